/* SPDX-License-Identifier: MIT */
/*
 * helper of bench/cpu.py: the same work each time, 30 calls deep, without a system call. Prints its
 * CPU time in nanoseconds.
 *
 *     sampled MILLIONS [RATE]     RATE: a timer of its own, with a handler that does nothing
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

int main(int count, char **arguments)
{
    enum { DEPTH = 25 }; /* and main, work, and what is before main */
    struct timespec now;
    if (count > 2)
        interrupt_often(atol(arguments[2]));
    sum = deeper(DEPTH, count > 1 ? atol(arguments[1]) : 1000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return 0;
}
