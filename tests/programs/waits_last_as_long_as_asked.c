/* SPDX-License-Identifier: MIT */
/*
 * helper: built by waits_last_as_long_as_asked.sh. Waits while our signal comes again and again:
 * each lasts as long as it was asked to, and says so. Then the same while a signal of the program's
 * own comes, too: it ends the wait at once, with EINTR, as it would without us. Then a read that
 * both interrupt at the same moment, and a lock that no signal may end. At last waits of a process
 * whose seccomp filter kills on the question for pending signals. A signal that is ignored ends no
 * wait.
 *
 * With "first": the first waits of forked children, which have two parts while a recorder file is
 * kept. With "made": a signal of the program's own comes while such a child makes its file, in the
 * midst of its first wait or before it, and ends the wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waits.h"

enum { WAIT_MS = 300, STORM_US = 3000, OWN_MS = 100, LONG_MS = 20000 };
enum { CONTROL_VALUE = 0x6d656d31 }; /* of base/attach_protocol.h */

static volatile sig_atomic_t over;
static pthread_t waiter;
static pid_t waiter_tid;
static int own_signal, storm_us = STORM_US;

static uint64_t now_ms(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Our signal every 3 ms, or more often, as `memoir ctl` sends it; after a while the own, once. */
static void *storm(void *unused)
{
    uint64_t from = now_ms();
    bool sent = own_signal == 0;
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_value.sival_int = CONTROL_VALUE;
    while (!over) {
        struct timespec rest = {0, storm_us * 1000};
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

static void *ignored_send(void *unused)
{
    while (!over)
        syscall(SYS_tgkill, getpid(), waiter_tid, SIGCHLD);
    return unused;
}

/* A signal that the program has no handler for, and that does nothing by itself, ends no wait. */
static void try_ignored(size_t at)
{
    pthread_t thread;
    over = 0;
    storm_us = STORM_US / 30;
    pthread_create(&thread, NULL, ignored_send, NULL);
    try_one(at, 0, WAIT_MS);
    pthread_join(thread, NULL);
    storm_us = STORM_US;
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

/* Many mappings: it takes the child long to note them in its file. */
static void map_much(void)
{
    enum { MAPPINGS = 8000, PAGE = 4096 };
    char *pages = mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < MAPPINGS && pages != MAP_FAILED; i += 2)
        mprotect(pages + i * PAGE, PAGE, PROT_READ);
}

/* The child ends its wait at once, or is killed. */
static bool ends_soon(pid_t child)
{
    int status = 0;
    for (uint64_t from = now_ms(); now_ms() - from < LONG_MS / 4; usleep(1000))
        if (waitpid(child, &status, WNOHANG) == child)
            return status == 0;
    child_end(child);
    return false;
}

static void wait_while_made(size_t at, bool before)
{
    int made = inotify_init1(IN_CLOEXEC);
    char names[4096];
    if (made < 0 || inotify_add_watch(made, ".", IN_CREATE) < 0)
        _exit(2);
    handled = 0;
    pid_t child = fork();
    if (child == 0) {
        void *volatile block = malloc(1000);
        for (uint64_t from = now_ms(); before && now_ms() - from < (uint64_t)FIRST_MS * 2;)
            ;
        own_after_ms = 0;
        int result = waits[at].wait(LONG_MS), error = errno;
        free(block);
        _exit(result < 0 && error == EINTR && handled == 1 ? 0 : 1);
    }
    read(made, names, sizeof names);
    kill(child, SIGUSR1);
    if (!ends_soon(child)) {
        printf("%s, a signal while the file is made%s\n", waits[at].name,
               before ? " before the wait" : "");
        wrong++;
    }
    close(made);
}

static void waits_while_made(void)
{
    map_much();
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (waits[i].file == IN_PARTS)
            wait_while_made(i, false);
        if (waits[i].file != NO_FILE)
            wait_while_made(i, true);
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

static void all_waits(void)
{
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (!waits[i].endless)
            try_one(i, 0, WAIT_MS);
        if (!waits[i].endless)
            try_ignored(i);
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
    bool queues = queues_begin();
    if (queues && count > 1 && strcmp(words[1], "first") == 0)
        first_waits();
    else if (queues && count > 1 && strcmp(words[1], "made") == 0)
        waits_while_made();
    else if (queues)
        all_waits();
    queues_end();
    return !queues || wrong != 0;
}
