/* SPDX-License-Identifier: MIT */
/* See base/os_timer.h. */
#include "base/os_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/confine.h"
#include "base/os.h"
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

uint64_t os_tick_ns(void)
{
    enum { COARSE = 6, USUAL = NS / 250 }; /* CLOCK_MONOTONIC_COARSE moves once a tick */
    struct timespec tick = {0, 0};
    if (call3(SYS_clock_getres, COARSE, (long)&tick, 0) != 0 || tick.tv_nsec <= 0)
        return USUAL;
    return (uint64_t)tick.tv_nsec;
}

/* The first version of the kernel's struct perf_event_attr. */
struct event_wish {
    uint32_t type, size;
    uint64_t what, period, sampled, read, flags;
    uint32_t wakeup, breakpoint;
    uint64_t more;
};
_Static_assert(sizeof(struct event_wish) == 64, "PERF_ATTR_SIZE_VER0");

static bool event_signals(int fd, pid_t tid, int signal)
{
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    return call3(SYS_fcntl, fd, F_SETOWN_EX, (long)&owner) == 0 &&
           call3(SYS_fcntl, fd, F_SETSIG, signal) == 0 &&
           call3(SYS_fcntl, fd, F_SETFL, O_ASYNC) == 0;
}

/* The mapping keeps the event when its descriptor is closed. */
void *os_event_make(pid_t tid, int signal, uint64_t period_ns, enum os_event kind, bool *denied)
{
    enum { SOFTWARE = 1, TASK_CLOCK = 1, NO_KERNEL = 1 << 5, NO_HYPERVISOR = 1 << 6, CLOEXEC = 8 };
    struct event_wish wish = {
        .type = SOFTWARE, .size = sizeof wish, .what = TASK_CLOCK, .period = period_ns};
    wish.flags = NO_HYPERVISOR | (kind == OS_EVENT_USER ? NO_KERNEL : 0);
    long fd = arch_syscall(SYS_perf_event_open, (long)&wish, tid, -1, -1, CLOEXEC, 0);
    *denied = fd == -EACCES || fd == -EPERM || fd == -ENOSYS;
    if (failed(fd))
        return NULL;
    long page = (long)os_page_size();
    long map = arch_syscall(SYS_mmap, 0, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!failed(map) && !event_signals((int)fd, tid, signal)) {
        os_event_remove((void *)map);
        map = -EINVAL;
    }
    call3(SYS_close, fd, 0, 0);
    return failed(map) ? NULL : (void *)map;
}

void os_event_remove(void *event)
{
    os_unmap(event, os_page_size());
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_usec * 1000;
}

static struct os_usage usage_of(int who)
{
    struct rusage usage = {0};
    if (call3(SYS_getrusage, who, (long)&usage, 0) != 0)
        return (struct os_usage){0, 0};
    return (struct os_usage){ns_of(usage.ru_utime), ns_of(usage.ru_stime)};
}

struct os_usage os_usage(void)
{
    return usage_of(RUSAGE_SELF);
}

struct os_usage os_usage_self(void)
{
    enum { THREAD = 1 }; /* RUSAGE_THREAD */
    return usage_of(THREAD);
}

pid_t os_tid_asked(void)
{
    return confined(CONFINE_CPU) ? os_tid() : (pid_t)call3(SYS_gettid, 0, 0, 0);
}
