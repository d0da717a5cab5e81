/* SPDX-License-Identifier: MIT */
/*
 * helper of bench/cpu.py: the same work each time, 30 calls deep, without a system call. Prints its
 * CPU time in nanoseconds.
 *
 *     sampled MILLIONS [RATE]         RATE: a timer of its own, with a handler that does nothing
 *     sampled MILLIONS RATE events    the same by a perf event of CPU time
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sum;

__attribute__((noinline)) static uint64_t work(long millions)
{
    uint64_t x = 1;
    for (long i = 0; i < millions * 1000000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

__attribute__((noinline)) static uint64_t deeper(int depth, long millions)
{
    uint64_t below = depth == 0 ? work(millions) : deeper(depth - 1, millions);
    return below + sum;
}

static void nothing(int signal)
{
    (void)signal;
}

static void interrupt_often(long rate)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec every = {{0, 1000000000 / rate}, {0, 1000000000 / rate}};
    signal(SIGUSR1, nothing);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &every, NULL);
}

static void event_often(long rate)
{
    struct perf_event_attr wish = {.type = PERF_TYPE_SOFTWARE,
                                   .size = PERF_ATTR_SIZE_VER0,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = (uint64_t)(1000000000 / rate),
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    struct f_owner_ex self = {F_OWNER_TID, getpid()};
    int fd = (int)syscall(SYS_perf_event_open, &wish, 0, -1, -1, 0);
    signal(SIGUSR1, nothing);
    if (fd < 0 || fcntl(fd, F_SETOWN_EX, &self) != 0 || fcntl(fd, F_SETSIG, SIGUSR1) != 0 ||
        fcntl(fd, F_SETFL, O_ASYNC) != 0)
        exit(1);
}

int main(int count, char **arguments)
{
    enum { DEPTH = 25 }; /* and main, work, and what is before main */
    struct timespec now;
    if (count > 3)
        event_often(atol(arguments[2]));
    else if (count > 2)
        interrupt_often(atol(arguments[2]));
    sum = deeper(DEPTH, count > 1 ? atol(arguments[1]) : 1000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return 0;
}
