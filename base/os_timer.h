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
    OS_CLOCK_SELF = 3,    /* of the calling thread */
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

/* The kernel looks at timers of CPU time this often. */
uint64_t os_tick_ns(void);

/*
 * A perf event: a clock of a thread's CPU time that is not bound to the tick. It sends `signal` to
 * the thread after each `period_ns`, with the code of a descriptor that is ready and no value; one
 * that is still pending swallows the next. The event is a mapping, which fork and exec leave
 * behind; a descriptor is open only during the call. `*denied`: the kernel does not let this
 * process have one. NULL: no event.
 */
enum os_event { OS_EVENT_ALL, OS_EVENT_USER /* rings in user mode only */ };
void *os_event_make(pid_t tid, int signal, uint64_t period_ns, enum os_event kind, bool *denied);
void os_event_remove(void *event);

/* CPU time of the process, or of the calling thread, in nanoseconds. */
struct os_usage {
    uint64_t user_ns, system_ns;
};
struct os_usage os_usage(void);
struct os_usage os_usage_self(void);

/* The calling thread's id as the kernel has it, whatever thread-local memory says; `os_tid` where a
 * filter may deny to ask. */
pid_t os_tid_asked(void);

#endif
