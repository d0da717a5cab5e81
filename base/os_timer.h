/* SPDX-License-Identifier: MIT */
/*
 * The kernel's timers and clocks of threads, by raw system calls as in base/os.h. A timer is the
 * process's and outlives the thread that it is for; exec and fork leave it behind.
 */
#ifndef BASE_OS_TIMER_H
#define BASE_OS_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    OS_CLOCK_WALL = 1,    /* never goes back */
    OS_CLOCK_PROCESS = 2, /* CPU time of all threads of the process */
};

/* The clock of a thread's CPU time, which every thread of the process may read. */
static inline int os_thread_clock(pid_t tid)
{
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    return (int)(~(uint32_t)tid << 3 | PER_THREAD | SCHEDULED);
}

/* What the clock shows; 0: there is no such clock, or its thread is gone. */
uint64_t os_clock_ns(int clock);

/* A timer that sends `signal` with `value` to thread `tid`; tid 0: to the process, which means some
 * thread. Its number or a negative errno: -EAGAIN is the limit on pending signals (ulimit -i). */
int os_timer_make(int clock, pid_t tid, int signal, uintptr_t value);
/* Rings in `first_ns` and then every `every_ns`; 0, 0: no more. */
bool os_timer_set(int timer, uint64_t first_ns, uint64_t every_ns);
void os_timer_remove(int timer);

/* CPU time of the process, in nanoseconds. */
struct os_usage {
    uint64_t user_ns, system_ns;
};
struct os_usage os_usage(void);

/* The calling thread's id as the kernel has it, whatever thread-local memory says. */
pid_t os_tid_asked(void);

#endif
