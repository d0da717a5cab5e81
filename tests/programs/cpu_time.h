/* SPDX-License-Identifier: MIT */
/* The calling thread's CPU time, and a loop that spends some of it. */
#ifndef PROGRAMS_CPU_TIME_H
#define PROGRAMS_CPU_TIME_H

#include <stdint.h>
#include <time.h>

static volatile uint64_t cpu_sum;

static inline uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Spends at least `ns` nanoseconds of it; its value is how many. The clock is asked seldom: asking
 * it is a system call, whose time must not count. A macro, so that no frame is added. */
#define CPU_BURN(ns, factor)                                     \
    ({                                                           \
        uint64_t burn_from = cpu_ns(), burn_now = burn_from;     \
        for (; burn_now - burn_from < (ns); burn_now = cpu_ns()) \
            for (unsigned burn_i = 0; burn_i < 4000; burn_i++)   \
                cpu_sum += (uint64_t)burn_i * (factor);          \
        burn_now - burn_from;                                    \
    })

#endif
