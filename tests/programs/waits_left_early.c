/* SPDX-License-Identifier: MIT */
/*
 * helper: built by waits_left_early.sh. Threads that leave a wait without a return from it, while our
 * signal comes, too.
 *
 * With "jump": a handler jumps out of it, and then a call that no wrapper begins again ends by our
 * signal, in a function whose frame lies over what the wrapper has left. The mask of signals must
 * stay as it is.
 */
#define _GNU_SOURCE
#include <pthread.h>
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

int main(int count, char **args)
{
    if (count != 2 || pipe(empty) != 0 || (events = epoll_create1(0)) < 0 || !queues_begin())
        return 2;
    atexit(queues_end);
    waiter = getpid();
    if (strcmp(args[1], "jump") == 0)
        jump_out_of_all();
    return wrong != 0;
}
