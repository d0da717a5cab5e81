/* SPDX-License-Identifier: MIT */
/*
 * helper: built by waits_last_as_long_as_asked.sh. Waits while our signal comes again and again:
 * each lasts as long as it was asked to, and says so. Then the same while a signal of the program's
 * own comes, too: it ends the wait at once, with EINTR, as it would without us. Then a read that
 * both interrupt at the same moment, and a lock that no signal may end. At last waits of a process
 * whose seccomp filter kills on the question for pending signals.
 *
 * With "first": the first waits of forked children, which have two parts while a recorder file is
 * kept.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 300, STORM_US = 3000, OWN_MS = 100, LONG_MS = 20000 };
enum { CONTROL_VALUE = 0x6d656d31 }; /* of base/attach_protocol.h */

static volatile sig_atomic_t over, handled;
static pthread_t waiter;
static pid_t waiter_tid;
static int own_signal, own_after_ms;
static int empty[2], events;

static uint64_t now_ms(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Our signal every 3 ms, as `memoir ctl` sends it; after a while the program's own, once. */
static void *storm(void *unused)
{
    uint64_t from = now_ms();
    bool sent = own_signal == 0;
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_value.sival_int = CONTROL_VALUE;
    while (!over) {
        struct timespec rest = {0, STORM_US * 1000};
        syscall(SYS_rt_tgsigqueueinfo, getpid(), waiter_tid, SIGURG, &info);
        syscall(SYS_nanosleep, &rest, NULL);
        if (!sent && now_ms() - from >= (uint64_t)own_after_ms) {
            sent = true;
            pthread_kill(waiter, own_signal);
        }
    }
    return unused;
}

static void on_own(int number)
{
    (void)number;
    handled++;
}

static struct timespec spec(int ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000L};
}

static int by_poll(int ms)
{
    struct pollfd fd = {empty[0], POLLIN, 0};
    return poll(&fd, 1, ms);
}
static int by_ppoll(int ms)
{
    struct timespec length = spec(ms);
    sigset_t none;
    sigemptyset(&none);
    return ppoll(NULL, 0, &length, ms % 2 ? &none : NULL);
}
static int by_select(int ms)
{
    struct timeval length = {ms / 1000, ms % 1000 * 1000};
    fd_set reads;
    FD_ZERO(&reads);
    FD_SET(empty[0], &reads);
    int result = select(empty[0] + 1, &reads, NULL, NULL, &length);
    uint64_t left = length.tv_sec * 1000ull + length.tv_usec / 1000;
    if (result == 0 && left != 0)
        fprintf(stderr, "select leaves %d ms\n", (int)left), _exit(1);
    return result;
}
static int by_pselect(int ms)
{
    struct timespec length = spec(ms);
    return pselect(0, NULL, NULL, NULL, &length, NULL);
}
static int by_epoll_wait(int ms)
{
    struct epoll_event event;
    return epoll_wait(events, &event, 1, ms);
}
static int by_epoll_pwait(int ms)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(events, &event, 1, ms, &none);
}
static int by_nanosleep(int ms)
{
    struct timespec length = spec(ms), rest = {0, 0};
    int result = nanosleep(&length, &rest);
    if (result < 0 && rest.tv_sec * 1000 + rest.tv_nsec / 1000000 > ms - own_after_ms)
        fprintf(stderr, "nanosleep leaves %ld s\n", (long)rest.tv_sec), _exit(1);
    return result;
}
static int by_clock_nanosleep(int ms)
{
    struct timespec length = spec(ms);
    errno = 0;
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &length, &length);
    return error == 0 ? 0 : (errno = error, -1);
}
static int by_clock_until(int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int error = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
    return error == 0 ? 0 : (errno = error, -1);
}
static int by_usleep(int ms)
{
    return usleep((unsigned)ms * 1000);
}
static int by_sleep(int ms)
{
    unsigned left = sleep((unsigned)(ms + 999) / 1000);
    return left == 0 && handled == 0 ? 0 : (errno = EINTR, -1);
}
static int by_pause(int ms)
{
    (void)ms;
    return pause();
}
static int by_sigsuspend(int ms)
{
    sigset_t none;
    (void)ms;
    sigemptyset(&none);
    return sigsuspend(&none);
}

static int by_sigtimedwait(int ms)
{
    struct timespec length = spec(ms);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    int result = sigtimedwait(&set, NULL, &length);
    return result < 0 && errno == EAGAIN ? 0 : result;
}

static const struct {
    const char *name;
    int (*wait)(int ms);
    bool endless;
} waits[] = {
    {"poll", by_poll, false},
    {"ppoll", by_ppoll, false},
    {"select", by_select, false},
    {"pselect", by_pselect, false},
    {"epoll_wait", by_epoll_wait, false},
    {"epoll_pwait", by_epoll_pwait, false},
    {"nanosleep", by_nanosleep, false},
    {"clock_nanosleep", by_clock_nanosleep, false},
    {"clock_nanosleep until", by_clock_until, false},
    {"usleep", by_usleep, false},
    {"sleep", by_sleep, false},
    {"pause", by_pause, true},
    {"sigsuspend", by_sigsuspend, true},
    {"sigtimedwait", by_sigtimedwait, false},
};

static int wrong;

static void try_one(size_t at, int own, int ms)
{
    pthread_t thread;
    sigset_t before, after;
    over = handled = 0;
    own_signal = own;
    own_after_ms = OWN_MS;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pthread_create(&thread, NULL, storm, NULL);
    uint64_t from = now_ms();
    int result = waits[at].wait(ms), error = errno;
    int took = (int)(now_ms() - from);
    over = 1;
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    bool right = own == 0 ? result == 0 && took >= ms
                          : result < 0 && error == EINTR && handled == 1 && took < LONG_MS / 2;
    if (!right || memcmp(&before, &after, 8) != 0) {
        printf("%s, own signal %d: %d, errno %d, %d ms of %d, handled %d%s\n", waits[at].name, own,
               result, error, took, ms, (int)handled,
               memcmp(&before, &after, 8) != 0 ? ", another mask" : "");
        wrong++;
    }
}

static char state_of(pid_t pid)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1)
        _exit(1);
    fclose(file);
    return state;
}

static void state_await(pid_t pid, char wanted)
{
    while (state_of(pid) != wanted)
        usleep(1000);
}

/* A child stops the program in its wait, so that both signals are there when it goes on. */
static pid_t both_send(int own)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    info.si_value.sival_int = CONTROL_VALUE;
    usleep(50000);
    state_await(parent, 'S');
    kill(parent, SIGSTOP);
    state_await(parent, 'T');
    syscall(SYS_rt_tgsigqueueinfo, parent, parent, SIGURG, &info);
    syscall(SYS_tgkill, parent, parent, own);
    kill(parent, SIGCONT);
    return 0;
}

static void child_end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void try_both(int own, int flags)
{
    struct sigaction action = {.sa_handler = on_own, .sa_flags = flags};
    char byte;
    sigaction(own, &action, NULL);
    handled = 0;
    pid_t child = both_send(own);
    if (child == 0) {
        usleep(flags & SA_RESTART ? 300000 : 3000000);
        write(empty[1], "", 1);
        _exit(0);
    }
    errno = 0;
    long got = read(empty[0], &byte, 1);
    int error = errno;
    child_end(child);
    bool right = flags & SA_RESTART ? got == 1 : got < 0 && error == EINTR;
    if (!right || handled != 1) {
        printf("read, own signal %d, flags %x: %ld, errno %d, handled %d\n", own, (unsigned)flags,
               got, error, (int)handled);
        wrong++;
    }
}

static pthread_mutex_t inheriting;
static volatile sig_atomic_t holds, released;

static void *holder(void *unused)
{
    pthread_mutex_lock(&inheriting);
    holds = 1;
    while (handled == 0)
        usleep(1000);
    usleep(200000);
    released = 1;
    pthread_mutex_unlock(&inheriting);
    return unused;
}

/* The kernel makes the call for such a lock again after every handler, and libc does not expect it
 * to end otherwise. */
static void try_lock(int own)
{
    struct sigaction action = {.sa_handler = on_own};
    pthread_mutexattr_t about;
    pthread_t thread;
    pthread_mutexattr_init(&about);
    pthread_mutexattr_setprotocol(&about, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inheriting, &about);
    sigaction(own, &action, NULL);
    handled = holds = released = 0;
    pthread_create(&thread, NULL, holder, NULL);
    while (!holds)
        usleep(1000);
    pid_t child = both_send(own);
    if (child == 0)
        _exit(0);
    int error = pthread_mutex_lock(&inheriting);
    if (error != 0 || !released || handled != 1) {
        printf("lock, own signal %d: errno %d, free %d, handled %d\n", own, error, (int)released,
               (int)handled);
        fflush(stdout);
        _exit(1);
    }
    pthread_mutex_unlock(&inheriting);
    pthread_join(thread, NULL);
    child_end(child);
}

/* A child's first wait: shorter than the time after which it makes its recorder file, then longer;
 * ended by a signal of the program's or by bytes to read, before that time and after it. */
enum { FIRST_MS = 20 };
static void first_wait(size_t at, int own, int after_ms, bool bytes)
{
    int ms = after_ms > 0 ? LONG_MS : own, status = 0, pipes[2], ready[2];
    struct timespec pause = spec(after_ms);
    char byte;
    if (pipe(pipes) != 0 || pipe(ready) != 0)
        _exit(2);
    pid_t child = fork();
    if (child == 0) {
        struct epoll_event event = {.events = EPOLLIN};
        void *volatile block = malloc(1000);
        dup2(pipes[0], empty[0]);
        events = epoll_create1(0);
        epoll_ctl(events, EPOLL_CTL_ADD, empty[0], &event);
        own_after_ms = after_ms;
        handled = 0;
        errno = 0;
        write(ready[1], "", 1);
        uint64_t from = now_ms();
        int result = waits[at].wait(ms), error = errno;
        int took = (int)(now_ms() - from);
        bool right = after_ms == 0 ? result == 0 && took >= ms && took < ms + LONG_MS / 4
                     : bytes       ? result == 1 && took < LONG_MS / 2
                             : result < 0 && error == EINTR && handled == 1 && took < LONG_MS / 2;
        if (!right)
            printf("first wait, %s of %d ms, after %d ms %s: %d, errno %d, %d ms, handled %d\n",
                   waits[at].name, ms, after_ms, bytes ? "bytes" : "a signal", result, error, took,
                   (int)handled);
        fflush(stdout);
        free(block);
        _exit(right ? 0 : 1);
    }
    read(ready[0], &byte, 1);
    if (after_ms > 0) {
        state_await(child, 'S');
        syscall(SYS_nanosleep, &pause, NULL);
    }
    if (after_ms > 0 && bytes)
        write(pipes[1], "", 1);
    else if (after_ms > 0)
        kill(child, own);
    waitpid(child, &status, 0);
    for (int i = 0; i < 2; i++) {
        close(pipes[i]);
        close(ready[i]);
    }
    wrong += status != 0;
}

static void first_waits(void)
{
    static const int moments[] = {FIRST_MS / 2, FIRST_MS * 3};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        bool reads = i < 6 && i != 1 && i != 3;
        if (!waits[i].endless) {
            first_wait(i, 1, 0, false);
            first_wait(i, FIRST_MS * 5 / 2, 0, false);
        }
        for (int k = 0; k < 2; k++) {
            first_wait(i, SIGUSR1, moments[k], false);
            if (reads)
                first_wait(i, 0, moments[k], true);
        }
    }
}

/* A poll, and a read that a child ends, while our signal comes again and again. */
static void try_confined(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigpending, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        char byte;
        waiter = pthread_self();
        waiter_tid = (pid_t)syscall(SYS_gettid);
        own_signal = over = 0;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            _exit(0); /* there are no filters here */
        pthread_create(&thread, NULL, storm, NULL);
        by_poll(OWN_MS);
        pid_t writer = fork();
        if (writer == 0) {
            usleep(OWN_MS * 1000);
            write(empty[1], "", 1);
            _exit(0);
        }
        long got = read(empty[0], &byte, 1);
        over = 1;
        pthread_join(thread, NULL);
        _exit(got == 1 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (status != 0) {
        printf("waits of a confined process: status %x\n", (unsigned)status);
        wrong++;
    }
}

int main(int count, char **words)
{
    struct sigaction action = {.sa_handler = on_own, .sa_flags = SA_RESTART};
    struct epoll_event event = {.events = EPOLLIN};
    waiter = pthread_self();
    waiter_tid = (pid_t)syscall(SYS_gettid);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGRTMIN + 1, &action, NULL);
    if (pipe(empty) != 0 || (events = epoll_create1(0)) < 0 ||
        epoll_ctl(events, EPOLL_CTL_ADD, empty[0], &event) != 0)
        return 2;
    if (count > 1 && strcmp(words[1], "first") == 0) {
        first_waits();
        return wrong != 0;
    }
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (!waits[i].endless)
            try_one(i, 0, WAIT_MS);
        /* the kernel delivers one before ours, the other after it */
        try_one(i, SIGUSR1, LONG_MS);
        try_one(i, SIGRTMIN + 1, LONG_MS);
    }
    for (int flags = 0;; flags = SA_RESTART) {
        try_both(SIGUSR1, flags);
        try_both(SIGRTMIN + 1, flags);
        if (flags != 0)
            break;
    }
    try_lock(SIGUSR1);
    try_lock(SIGRTMIN + 1);
    try_confined();
    return wrong != 0;
}
