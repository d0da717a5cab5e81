/* SPDX-License-Identifier: MIT */
/*
 * helper: children that forbid all of their threads, on pain of death, the system calls that a CPU
 * profile needs, while these threads sleep, work, and start others. The words are how many children
 * and which threads: s sleeps, p polls, e waits for events, w works, b begins and ends
 * others. Exit status 1: a child was ended.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 16,
    SKIPPED = 77,
    MS = 1000000,
    CLONE3 = 435,
#ifdef __x86_64__
    RSEQ = 334
#else
    RSEQ = 293
#endif
};

static const int allowed[] = {
    SYS_mmap,          SYS_munmap,          SYS_mremap,
    SYS_mprotect,      SYS_madvise,         SYS_brk,
    SYS_futex,         SYS_write,           SYS_exit,
    SYS_exit_group,    SYS_clone,           CLONE3,
    SYS_wait4,         SYS_set_robust_list, RSEQ,
    SYS_rt_sigreturn,  SYS_rt_sigprocmask,  SYS_rt_sigaction,
    SYS_getpid,        SYS_restart_syscall, SYS_getrandom,
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep,
#ifdef SYS_poll
    SYS_poll,          SYS_epoll_wait,
#else
    SYS_ppoll,         SYS_epoll_pwait,
#endif
};

static volatile int stop, events;
static int started;

static void nap(long ns)
{
    struct timespec length = {0, ns};
    nanosleep(&length, NULL);
}

static void *empty(void *unused)
{
    free(malloc(10));
    return unused;
}

static void turn(char kind)
{
    struct epoll_event event;
    pthread_t other;
    switch (kind) {
    case 's':
        nap(MS / 5);
        return;
    case 'p':
        poll(NULL, 0, 1);
        return;
    case 'e':
        epoll_wait(events, &event, 1, 1);
        return;
    case 'b':
        if (pthread_create(&other, NULL, empty, NULL) == 0)
            pthread_join(other, NULL);
        return;
    default:
        free(malloc(100));
    }
}

static void *run(void *kind)
{
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (!stop)
        turn(*(const char *)kind);
    return NULL;
}

static int forbid(void)
{
    enum { EACH = 2 };
    struct sock_filter code[2 + EACH * (sizeof allowed / sizeof *allowed)];
    unsigned length = 0;
    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        code[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void child(const char *kinds)
{
    pthread_t threads[THREADS_MAX];
    int count = (int)strlen(kinds);
    events = epoll_create1(0);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)(kinds + i)) != 0)
            _exit(2);
    while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < count)
        nap(MS / 10);
    nap(3 * MS);
    if (forbid() != 0)
        _exit(SKIPPED);
    nap(10 * MS);
    stop = 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 3 || strlen(argv[2]) > THREADS_MAX)
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            child(argv[2]);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return 2;
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
            return SKIPPED;
        if (status != 0) {
            printf("child %d with threads %s: status %d\n", i, argv[2], status);
            return 1;
        }
    }
    return 0;
}
