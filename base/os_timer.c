/* SPDX-License-Identifier: MIT */
/* See base/os_timer.h. */
#include "base/os_timer.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/os_call.h"

enum { NS = 1000000000 };

/* The head of the kernel's struct sigevent; the C libraries disagree on the name of the last. */
struct event {
    uintptr_t value;
    int signal, notify, tid;
    int rest[11];
};
_Static_assert(sizeof(struct event) == 64, "the kernel reads 64 bytes");

uint64_t os_clock_ns(int clock)
{
    struct timespec now = {0, 0};
    if (call3(SYS_clock_gettime, clock, (long)&now, 0) != 0)
        return 0;
    return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

int os_timer_make(int clock, pid_t tid, int signal, uintptr_t value)
{
    enum { TO_PROCESS = 0, TO_THREAD = 4 }; /* SIGEV_SIGNAL, SIGEV_THREAD_ID */
    struct event event = {value, signal, tid == 0 ? TO_PROCESS : TO_THREAD, tid, {0}};
    int timer = -1;
    long result = call3(SYS_timer_create, clock, (long)&event, (long)&timer);
    return failed(result) ? (int)result : timer;
}

static struct timespec spec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / NS), (long)(ns % NS)};
}

bool os_timer_set(int timer, uint64_t first_ns, uint64_t every_ns)
{
    struct itimerspec times = {spec(every_ns), spec(first_ns)};
    return arch_syscall(SYS_timer_settime, timer, 0, (long)&times, 0, 0, 0) == 0;
}

void os_timer_remove(int timer)
{
    call3(SYS_timer_delete, timer, 0, 0);
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_usec * 1000;
}

struct os_usage os_usage(void)
{
    struct rusage usage = {0};
    if (call3(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0) != 0)
        return (struct os_usage){0, 0};
    return (struct os_usage){ns_of(usage.ru_utime), ns_of(usage.ru_stime)};
}

pid_t os_tid_asked(void)
{
    return (pid_t)call3(SYS_gettid, 0, 0, 0);
}
