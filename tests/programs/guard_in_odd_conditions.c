/* SPDX-License-Identifier: MIT */
/* guard_in_odd_conditions.sh runs it: one heap error, at a moment or in surroundings that make a
 * report hard.   CASE [PROGRAM ARGUMENTS] */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile block;

__attribute__((noinline)) static void overflow(void)
{
    block[64] = 1;
}

static void by_signal(int number)
{
    (void)number;
    overflow();
}

static void in_handler(void)
{
    signal(SIGUSR1, by_signal);
    raise(SIGUSR1);
}

static void free_twice(int number)
{
    (void)number;
    free(block);
    free(block);
}

static void (*operator_delete)(void *);
static void delete_mallocs(int number)
{
    (void)number;
    operator_delete(block);
}

/* With 8 KiB beside what the kernel puts there: a report has its room, but looking for names does
 * not. */
static void run_on_a_small_stack(void (*handler)(int))
{
    size_t size = (8 << 10) + getauxval(AT_MINSIGSTKSZ);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    char *low = mmap(NULL, page + room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (low == MAP_FAILED || mprotect(low + page, room, PROT_READ | PROT_WRITE) != 0)
        _exit(3);
    stack_t stack = {.ss_sp = low + page, .ss_size = room};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        _exit(77);
    raise(SIGUSR1);
}

static void on_a_small_stack(void)
{
    run_on_a_small_stack(free_twice);
}

static void mismatch_on_a_small_stack(void)
{
    operator_delete = (void (*)(void *))dlsym(NULL, "_ZdlPv");
    run_on_a_small_stack(delete_mallocs);
}

static void ends_by(pid_t child, int number)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) != number)
        _exit(3);
    _exit(0);
}

/* In the child, before the allocator may have noticed that it is one. */
static void in_fork(void)
{
    pthread_atfork(NULL, NULL, overflow);
    ends_by(fork(), SIGSEGV);
}

static pthread_key_t key;

/* In the last round of them: all others have run. */
static void last_destructor(void *round)
{
    if ((intptr_t)round < 4)
        pthread_setspecific(key, (void *)((intptr_t)round + 1));
    else
        overflow();
}

static void *thread(void *nothing)
{
    pthread_setspecific(key, (void *)(intptr_t)1);
    return nothing;
}

static void in_last_destructor(void)
{
    pthread_t id;
    pthread_key_create(&key, last_destructor);
    if (pthread_create(&id, NULL, thread, NULL) == 0)
        pthread_join(id, NULL);
}

/* The kernel ends it, whatever handlers there are. */
static void blocked(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    overflow();
}

static void use_after_free(void)
{
    char *volatile freed = block;
    free(block);
    freed[1] = 2;
}

/* Found when the block is freed. */
static void hardened(void)
{
    overflow();
    free(block);
}

/* No mapping can be made or split any more. */
static void without_mappings(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), max = 1 << 20;
    char *pages =
        mmap(NULL, max * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        _exit(4);
    for (size_t i = 0; i < max; i += 2)
        if (mprotect(pages + i * page, page, PROT_READ) != 0)
            break;
    for (int i = 0; i < 1000; i++) {
        char *volatile other = malloc(100);
        if (other != NULL)
            memset(other, 1, 100);
        free(other);
    }
    overflow();
}

/* From the start, and for more blocks than what was prepared before. */
static void locked_many(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        _exit(77);
    for (int i = 0; i < 10000; i++) {
        size_t size = 100 + (size_t)(i % 9000);
        char *volatile other = malloc(size);
        memset(other, 1, size);
        free(other);
        other = calloc(1, size);
        for (size_t at = 0; at < size; at++)
            if (other[at] != 0)
                _exit(9);
        memset(other, 1, size);
        free(other);
    }
    block = malloc(64);
    overflow();
}

static void locked(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        _exit(77);
    block = malloc(64);
    use_after_free();
}

/* The page behind a new block is closed, however often memory was freed before. */
static void hardened_for_long(void)
{
    enum { TIMES = 40000, BYTES = 20 << 20, TAIL = 8 };
    for (unsigned i = 0; i < TIMES; i++)
        free(malloc(200000));
    block = malloc(BYTES - TAIL);
    block[BYTES + sysconf(_SC_PAGESIZE) / 2] = 1;
}

static void raw(int number)
{
    (void)number;
    _exit(write(1, "raw handler\n", 12) == 12 ? 7 : 8);
}

__attribute__((naked, used)) static void restore(void)
{
#ifdef __x86_64__
    __asm__("mov $15, %eax; syscall");
#else
    __asm__("mov x8, #139; svc #0");
#endif
}

/* As Go's runtime does, without libc. */
static void raw_handler(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {raw, 0x04000000, restore, 0};
    if (syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, 8) != 0)
        _exit(4);
    overflow();
}

/* Runs a program on a kernel that knows no guard markers: both calls are answered EINVAL. */
static void old_kernel(char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 102, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 103, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
    execvp(argv[0], argv);
    _exit(4);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"in_handler", in_handler},
        {"on_a_small_stack", on_a_small_stack},
        {"mismatch_on_a_small_stack", mismatch_on_a_small_stack},
        {"in_fork", in_fork},
        {"in_last_destructor", in_last_destructor},
        {"blocked", blocked},
        {"overflow", overflow},
        {"use_after_free", use_after_free},
        {"hardened", hardened},
        {"hardened_for_long", hardened_for_long},
        {"without_mappings", without_mappings},
        {"locked", locked},
        {"locked_many", locked_many},
        {"raw_handler", raw_handler},
    };
    alarm(60); /* a hang is seen */
    if (argc > 2 && strcmp(argv[1], "old_kernel") == 0)
        old_kernel(argv + 2);
    block = malloc(64);
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    return 5;
}
