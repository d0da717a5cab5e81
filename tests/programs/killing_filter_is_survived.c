/* SPDX-License-Identifier: MIT */
/*
 * helper: forbids itself, on pain of death, every system call but those that a C program with
 * threads and forks needs under glibc's own malloc, and getpid; then it allocates, starts and ends
 * threads and forks. The first word is what else is allowed: exact, dump, capture, control,
 * leaks. Further words:
 *
 *   tell    says which call it was that is not among them
 *   raw     sets the filter without libc, so that the library can't know of it
 *   sync    sets it by syscall(), for all threads, one of which works already
 *   cloned  is a child that libc did not make, and sets it before anything else
 *   deaf    blocks the signal by which the library is called
 *   stay    says "ready", and works on for some seconds
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 40, MANY = 100, ROUNDS = 20000, BLOCKS = 256, STAY_S = 6 };

static const int allowed[] = {
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_write,
    SYS_exit,
    SYS_exit_group,
    SYS_clone,
    435 /* clone3 */,
    SYS_wait4,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_getpid,
    SYS_restart_syscall,
    SYS_getrandom,
    SYS_rt_sigaction,
    SYS_clock_gettime,
};
static const int exact[] = {SYS_prctl};
/* of dumps and captures */
static const int dump[] = {
    SYS_prctl,      SYS_openat,     SYS_read,          SYS_pread64,         SYS_close,
    SYS_fstat,      SYS_newfstatat, SYS_fcntl,         SYS_flock,           SYS_mincore,
    SYS_readlinkat, SYS_renameat,   SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_uname,
    SYS_renameat2,  SYS_linkat,     SYS_unlinkat,      SYS_getdents64,
};
static const int control[] = {
    SYS_prctl,      436 /* close_range */,
    SYS_gettid,     SYS_getresuid,
    SYS_getresgid,  SYS_socket,
    SYS_fchmod,     SYS_bind,
    SYS_listen,     SYS_accept4,
    SYS_getsockopt, SYS_recvmsg,
    SYS_sendto,     SYS_sendmsg,
    SYS_ppoll,      SYS_openat,
    SYS_read,       SYS_close,
    SYS_fstat,      SYS_newfstatat,
    SYS_mkdirat,    SYS_unlinkat,
    SYS_connect,    SYS_getdents64,
    SYS_kill,       SYS_memfd_create,
};

static const int leaks[] = {
    SYS_openat,
    SYS_read,
    SYS_pread64,
    SYS_close,
    SYS_lseek,
    SYS_getdents64,
    SYS_ioctl,
    SYS_prctl,
    SYS_rt_tgsigqueueinfo,
    SYS_kill,
    SYS_gettid,
    SYS_getppid,
    SYS_fstat,
    436 /* close_range */,
    SYS_fcntl,
    SYS_write,
};

extern int memoir_dump(const char *path) __attribute__((weak));
extern bool memoir_leaks(void *out, size_t size, void *each, void *context) __attribute__((weak));

static void on_trap(int number, siginfo_t *info, void *context)
{
    char text[] = "system call 000 is not among them\n";
    int call = info->si_syscall;
    (void)number;
    (void)context;
    text[12] = (char)('0' + call / 100 % 10);
    text[13] = (char)('0' + call / 10 % 10);
    text[14] = (char)('0' + call % 10);
    write(2, text, sizeof text - 1);
    _exit(3);
}

static struct sock_filter code[256];
static unsigned length;

static void allow(const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        code[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
}

/* A system call that no library sees. */
static long raw_prctl(long option, long mode, void *program)
{
    long result;
#ifdef __x86_64__
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_prctl), "D"(option), "S"(mode), "d"(program)
                     : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = SYS_prctl, x0 __asm__("x0") = option;
    register long x1 __asm__("x1") = mode, x2 __asm__("x2") = (long)program;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(number), "r"(x1), "r"(x2) : "memory");
    result = x0;
#endif
    return result;
}

static long filter_set(struct sock_fprog *program, int raw, int sync)
{
    if (raw)
        return raw_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
    if (sync)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

/* SIGSYS tells which call it was, where a killed process tells nothing. */
static void forbid(const char *feature, int tell, int raw, int sync)
{
    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    allow(allowed, sizeof allowed / sizeof *allowed);
    if (strcmp(feature, "exact") == 0)
        allow(exact, sizeof exact / sizeof *exact);
    if (strcmp(feature, "dump") == 0 || strcmp(feature, "capture") == 0)
        allow(dump, sizeof dump / sizeof *dump);
    if (strcmp(feature, "control") == 0)
        allow(control, sizeof control / sizeof *control);
    if (strcmp(feature, "leaks") == 0)
        allow(leaks, sizeof leaks / sizeof *leaks);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, tell ? SECCOMP_RET_TRAP
                                                                        : SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)length, code};
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || filter_set(&program, raw, sync) != 0) {
        printf("skipped: no filter: %s\n", strerror(errno));
        _exit(77);
    }
}

static volatile int working; /* libc's own part of a thread's start is over */

static void *work(void *argument)
{
    void *blocks[BLOCKS] = {0};
    working = 1;
    unsigned random = (unsigned)(size_t)argument * 2654435761u + 1;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        unsigned at = random >> 16 & (BLOCKS - 1);
        size_t size = (random >> 8 & 15) == 0 ? random % 300000 : random % 3000;
        if (i % 5 == 0) {
            blocks[at] = realloc(blocks[at], size + 1);
        } else {
            free(blocks[at]);
            blocks[at] = i % 3 ? malloc(size) : calloc(1, size + 1);
        }
        if (blocks[at] == NULL && size > 0)
            _exit(4);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return NULL;
}

static int has(char **words, const char *wanted)
{
    while (*words && strcmp(*words, wanted) != 0)
        words++;
    return *words != NULL;
}

static long now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Ends by itself, so that a test which forgets it leaves nothing behind. */
static void stay(void)
{
    static const char ready[] = "ready\n";
    long until = now_s() + STAY_S;
    struct timespec pause = {0, 10000000};
    int never = 0;
    write(1, ready, sizeof ready - 1);
    while (now_s() < until) {
        free(malloc(100000));
        free(malloc(100 + (unsigned)now_s() % 100));
        syscall(SYS_futex, &never, 128 /* wait */, 0, &pause, NULL, 0);
    }
}

static void *wait_a_while(void *unused)
{
    struct timespec pause = {0, 100000000};
    int never = 0;
    free(malloc(1000));
    syscall(SYS_futex, &never, 128 /* wait */, 0, &pause, NULL, 0);
    free(malloc(2000));
    return unused;
}

static void many_at_a_time(void)
{
    static pthread_t threads[MANY];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (size_t i = 0; i < MANY; i++)
        if (pthread_create(&threads[i], &small, wait_a_while, NULL) != 0)
            _exit(8);
    for (size_t i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
}

/* As sandboxes of web browsers do. The parent ends as its child does. */
static void become_a_clone(void)
{
    int status = 0;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        return;
    if (child < 0 || waitpid(child, &status, 0) != child)
        _exit(10);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS], early;
    int status = 0, sync = has(argv, "sync");
    const char *feature = argc > 1 ? argv[1] : "";
    if (sync && pthread_create(&early, NULL, work, NULL) != 0)
        return 5;
    while (sync && !working)
        ;
    if (has(argv, "deaf")) {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGURG);
        pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    }
    if (has(argv, "cloned"))
        become_a_clone();
    forbid(feature, has(argv, "tell"), has(argv, "raw"), sync);
    if (sync)
        pthread_join(early, NULL);
    if (has(argv, "stay"))
        stay();
    work((void *)99);
    many_at_a_time();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
                return 5;
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    if (strcmp(feature, "dump") == 0 && (!memoir_dump || memoir_dump("now.memoir") != 0))
        return 7;
    char counts[256];
    if (strcmp(feature, "leaks") == 0 &&
        (!memoir_leaks || !memoir_leaks(counts, sizeof counts, NULL, NULL)))
        return 9;
    void *large = malloc(200u << 20);
    large = realloc(large, 300u << 20);
    free(large);
    pid_t child = fork();
    if (child == 0) {
        work((void *)7);
        if (pthread_create(&threads[0], NULL, work, NULL) == 0)
            pthread_join(threads[0], NULL);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return 6;
    return 0;
}
