/* SPDX-License-Identifier: MIT */
/*
 * helper: built by waits_left_early.sh. Threads that leave a wait without a return from it, while
 * our signal comes, too.
 *
 * With "jump": a handler jumps out of it, and then a call that no wrapper begins again ends by our
 * signal, in a function whose frame lies over what the wrapper has left. The mask of signals must
 * stay as it is.
 *
 * With "cancel": it is cancelled, before it waits, or while our signal comes. Its cleanup handler
 * runs with the mask of the thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "waits.h"

enum { CONTROL_VALUE = 0x6d656d31 }; /* of base/attach_protocol.h */
enum { WAITS = sizeof waits / sizeof waits[0], STORM_NS = 20000000, LONG_MS = 20000 };

static volatile sig_atomic_t over;
static pid_t waiter;
static int wrong;

/* Our signal, as `memoir ctl` sends it. */
static void send_ours(void)
{
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_value.sival_int = CONTROL_VALUE;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), waiter, SIGURG, &info);
}

static void mask_expect(const char *name, const sigset_t *wanted, const sigset_t *is)
{
    uint64_t masks[2];
    memcpy(&masks[0], wanted, sizeof masks[0]);
    memcpy(&masks[1], is, sizeof masks[1]);
    masks[1] &= ~(UINT64_C(3) << 31); /* libc's own: blocked while they cancel a thread */
    if (masks[0] == masks[1])
        return;
    printf("%s: the mask is %llx instead of %llx\n", name, (unsigned long long)masks[1],
           (unsigned long long)masks[0]);
    wrong++;
}

/* ---- jump -------------------------------------------------------------------------------- */

static sigjmp_buf out;

static void jump(int number)
{
    siglongjmp(out, number);
}

static void *storm(void *unused)
{
    while (!over) {
        struct timespec rest = {0, STORM_NS};
        send_ours();
        syscall(SYS_nanosleep, &rest, NULL);
    }
    return unused;
}

/* Its frame keeps what lay there before. */
static __attribute__((noinline)) ssize_t receive(int socket)
{
    volatile char room[1200];
    char byte;
    __asm__ volatile("" : : "r"(room) : "memory");
    return recv(socket, &byte, 1, 0);
}

static void jump_out_of(size_t at, int socket)
{
    struct itimerval soon = {.it_value.tv_usec = 30000};
    pthread_t thread;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    if (sigsetjmp(out, 1) == 0) {
        setitimer(ITIMER_REAL, &soon, NULL);
        waits[at].wait(LONG_MS);
        printf("%s was not left\n", waits[at].name), wrong++;
    }
    over = 0;
    pthread_create(&thread, NULL, storm, NULL);
    for (int i = 0; i < 5; i++)
        receive(socket);
    over = 1;
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    mask_expect(waits[at].name, &before, &after);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void jump_out_of_all(void)
{
    struct timeval patience = {.tv_usec = 50000};
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        _exit(2);
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    signal(SIGALRM, jump);
    for (size_t at = 0; at < WAITS; at++)
        jump_out_of(at, sockets[0]);
}

/* ---- cancel ------------------------------------------------------------------------------ */

static struct victim {
    size_t at;
    bool at_once;
    sigset_t at_cleanup;
} victim;

static void cleanup(void *unused)
{
    (void)unused;
    pthread_sigmask(SIG_SETMASK, NULL, &victim.at_cleanup);
}

static void *wait_for_the_end(void *unused)
{
    __atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
    pthread_cleanup_push(cleanup, NULL);
    if (victim.at_once)
        pthread_cancel(pthread_self());
    waits[victim.at].wait(LONG_MS);
    pthread_cleanup_pop(0);
    return unused;
}

/* Some let another mask be in force. */
static bool takes_mask(size_t at)
{
    return waits[at].wait == by_epoll_pwait || waits[at].wait == by_sigsuspend;
}

static void cancel_in(size_t at, bool at_once)
{
    pthread_t thread;
    sigset_t before;
    void *result;
    victim = (struct victim){at, at_once};
    sigemptyset(&before);
    if (!takes_mask(at))
        sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    __atomic_store_n(&waiter, 0, __ATOMIC_RELEASE);
    pthread_create(&thread, NULL, wait_for_the_end, NULL);
    if (!at_once) { /* both signals are there when the thread gets the only processor */
        while (__atomic_load_n(&waiter, __ATOMIC_ACQUIRE) == 0)
            sched_yield();
        syscall(SYS_nanosleep, &(struct timespec){0, 30000000}, NULL);
        send_ours();
        pthread_cancel(thread);
    }
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED)
        printf("%s was not cancelled\n", waits[at].name), wrong++;
    mask_expect(waits[at].name, &before, &victim.at_cleanup);
}

/* On a busy machine the thread may run in between, and be cancelled where the wrapper is about to
 * make the call again: three times in a row that is no accident. */
static void cancel_patiently(size_t at, bool at_once)
{
    int before = wrong;
    for (int tries = 0; tries < 3; tries++) {
        wrong = before;
        cancel_in(at, at_once);
        if (wrong == before)
            return;
    }
}

static void cancel_in_all(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (size_t at = 0; at < WAITS; at++)
        for (int at_once = 0; at_once < 2; at_once++)
            if (waits[at].wait != by_semop && waits[at].wait != by_semtimedop)
                cancel_patiently(at, at_once);
}

int main(int count, char **args)
{
    if (count != 2 || pipe(empty) != 0 || (events = epoll_create1(0)) < 0 || !queues_begin())
        return 2;
    atexit(queues_end);
    waiter = getpid();
    if (strcmp(args[1], "jump") == 0)
        jump_out_of_all();
    else
        cancel_in_all();
    return wrong != 0;
}
