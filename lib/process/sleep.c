/* SPDX-License-Identifier: MIT */
/*
 * poll, select, epoll_wait, nanosleep and their relatives. The kernel ends them with EINTR when a
 * handler has run, ours too, and a program may take that for the end of its sleep. These wrappers
 * begin again if the signal was ours alone (lib/watch/interrupt.h), for the time that is left. They
 * begin with a call that takes a mask of signals (ppoll and others), or where a seccomp filter
 * forbids it, with the program's own. A signal of the program's ends them as ever.
 *
 * Each calls libc's function, so that they stay points where a thread can be cancelled. Not in the
 * static archive: it has no way to libc's functions behind ours. docs/CONTROL.md has the limits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "lib/dump/dump.h"
#include "lib/process/memory.h"
#include "lib/process/next.h"
#include "lib/process/sleep.h"
#include "lib/watch/watch.h"

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size);
int epoll_pwait2(int fd, struct epoll_event *events, int events_max, const struct timespec *timeout,
                 const sigset_t *mask);

/* libc's, found before the program runs: they may be called in signal handlers. */
static struct {
    __typeof__(&poll) poll;
    __typeof__(&ppoll) ppoll;
    __typeof__(&select) select;
    __typeof__(&pselect) pselect;
    __typeof__(&epoll_wait) epoll_wait;
    __typeof__(&epoll_pwait) epoll_pwait;
    __typeof__(&epoll_pwait2) epoll_pwait2;
    __typeof__(&nanosleep) nanosleep;
    __typeof__(&clock_nanosleep) clock_nanosleep;
    __typeof__(&pause) pause;
    __typeof__(&sigsuspend) sigsuspend;
} next;

#define NEXT(name) (next_of((void **)&next.name, #name), next.name)

__attribute__((constructor(102))) static void look_up(void)
{
    (void)NEXT(poll);
    (void)NEXT(ppoll);
    (void)NEXT(select);
    (void)NEXT(pselect);
    (void)NEXT(epoll_wait);
    (void)NEXT(epoll_pwait);
    (void)NEXT(epoll_pwait2);
    (void)NEXT(nanosleep);
    (void)NEXT(clock_nanosleep);
    (void)NEXT(pause);
    (void)NEXT(sigsuspend);
}

/* A wait and when it is to end. */
struct sleep {
    struct interrupt_wait wait;
    uint64_t until_ns; /* UINT64_MAX: never */
    uint64_t first_ns; /* when its first part is to end; 0: it has none, or that has passed */
    sigset_t mask;     /* the thread's own */
    bool plain;        /* a filter forbids calls that take a mask: `mask` is in force meanwhile */
};

static void mask_copy(struct sleep *sleep)
{
    memcpy(&sleep->mask, &sleep->wait.mask, sizeof sleep->wait.mask);
}

static uint64_t file_decide(uint64_t ns)
{
    int kept = errno;
    uint64_t now_ms = os_now_ms(), due_ms = load_relaxed(&mirror_due_ms);
    if (now_ms + ns / NS_A_MS < due_ms)
        return 0;
    if (memory_is_own())
        dump_before_sleep();
    errno = kept;
    return load_relaxed(&mirror_child) && now_ms < due_ms ? (due_ms - now_ms) * NS_A_MS : 0;
}

NOINLINE uint64_t sleep_file_decide(struct interrupt_wait *wait, uint64_t ns)
{
    interrupt_wait_hold(wait);
    uint64_t first_ns = file_decide(ns);
    interrupt_wait_again(wait); /* what our signal cut short there was not the wait */
    return first_ns;
}

NOINLINE bool sleep_file_decide_anew(struct interrupt_wait *wait, uint64_t ns)
{
    sleep_file_decide(wait, ns);
    return interrupt_wait_came(wait);
}

/* True: signals are blocked, and the call must let them through (sleep->mask). All of it is
 * written: what earlier frames have left there would count as pointers of a thread that sleeps. */
static bool wait_begin(struct sleep *sleep, uint64_t ns)
{
    memset(sleep, 0, sizeof *sleep);
    sleep->plain = confined(CONFINE_WAITS);
    uint64_t now_ns = ns == 0 || ns == UINT64_MAX ? 0 : os_now_ns();
    sleep->until_ns = ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + ns;
    bool blocked = interrupt_wait_begin(&sleep->wait, ns != 0);
    if (unlikely(blocked))
        mask_copy(sleep);
    return blocked;
}

static bool cut(int result)
{
    return result < 0 && errno == EINTR;
}

/* A forked child that has no recorder file yet may make it now. True, then, too: a signal that came
 * meanwhile is still blocked. And if the wait has parts: the call must end with the first one. */
static bool child_begin(struct sleep *sleep, uint64_t ns, bool blocked)
{
    if (likely(!sleep_in_child(ns)))
        return blocked;
    if (sleep->plain) {
        file_decide(ns);
        return blocked;
    }
    uint64_t first_ns = sleep_file_decide(&sleep->wait, ns);
    mask_copy(sleep);
    if (first_ns != 0) {
        first_ns += os_now_ns();
        sleep->first_ns = first_ns < sleep->until_ns ? first_ns : sleep->until_ns;
    }
    return true;
}

static bool sleep_begin(struct sleep *sleep, uint64_t ns)
{
    return child_begin(sleep, ns, wait_begin(sleep, ns));
}

/* Whether the call is to be made again. `over`: its time has passed, and nothing has come;
 * `was_cut`: a signal has ended it. */
static bool sleep_again(struct sleep *sleep, bool over, bool was_cut)
{
    bool part = unlikely(sleep->first_ns != 0) && over;
    if (likely(!part && !was_cut))
        return false;
    sleep->plain = confined(CONFINE_WAITS);
    if (part) {
        sleep->first_ns = 0;
        if (sleep_in_child(UINT64_MAX))
            sleep_file_decide(&sleep->wait, UINT64_MAX);
        if (sleep->plain)
            interrupt_wait_open(&sleep->wait);
        return true;
    }
    if (!(sleep->plain ? interrupt_wait_anew(&sleep->wait) : interrupt_wait_again(&sleep->wait)))
        return false;
    mask_copy(sleep);
    return true;
}

static bool call_again(struct sleep *sleep, int result)
{
    return sleep_again(sleep, result == 0, cut(result));
}

static uint64_t ns_until(uint64_t then_ns)
{
    uint64_t now_ns = os_now_ns();
    return then_ns > now_ns ? then_ns - now_ns : 0;
}

/* When the next call is to end; UINT64_MAX: never. */
static uint64_t call_end_ns(const struct sleep *sleep)
{
    return unlikely(sleep->first_ns != 0) ? sleep->first_ns : sleep->until_ns;
}

/* How long the next call may take; NULL: for ever. */
static struct timespec *left(const struct sleep *sleep, struct timespec *spec)
{
    uint64_t end_ns = call_end_ns(sleep);
    if (end_ns == UINT64_MAX)
        return NULL;
    *spec = sleep_spec(ns_until(end_ns));
    return spec;
}

/* In whole milliseconds, not less than what is left. */
static int left_ms(const struct sleep *sleep)
{
    uint64_t end_ns = call_end_ns(sleep);
    if (end_ns == UINT64_MAX)
        return -1;
    uint64_t ms = (ns_until(end_ns) + NS_A_MS - 1) / NS_A_MS;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static uint64_t ns_of_ms(int ms)
{
    return ms < 0 ? UINT64_MAX : (uint64_t)ms * NS_A_MS;
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct sleep sleep;
    struct timespec rest;
    bool blocked = sleep_begin(&sleep, ns_of_ms(timeout_ms));
    int result = blocked ? NEXT(ppoll)(fds, count, left(&sleep, &rest), &sleep.mask)
                         : NEXT(poll)(fds, count, timeout_ms);
    while (call_again(&sleep, result))
        result = sleep.plain ? NEXT(poll)(fds, count, left_ms(&sleep))
                             : NEXT(ppoll)(fds, count, left(&sleep, &rest), &sleep.mask);
    interrupt_wait_end(&sleep.wait);
    return result;
}

/* What programs compiled with _FORTIFY_SOURCE call. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size)
{
    if (size / sizeof *fds < count)
        os_abort();
    return poll(fds, count, timeout_ms);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    struct sleep sleep;
    struct timespec rest;
    if (!sleep_is_timeout(timeout))
        return NEXT(ppoll)(fds, count, timeout, mask);
    bool blocked = sleep_begin(&sleep, sleep_ns(timeout));
    int result = NEXT(ppoll)(fds, count, sleep.first_ns != 0 ? left(&sleep, &rest) : timeout,
                             blocked && mask == NULL ? &sleep.mask : mask);
    while (call_again(&sleep, result))
        result = NEXT(ppoll)(fds, count, left(&sleep, &rest), mask == NULL ? &sleep.mask : mask);
    interrupt_wait_end(&sleep.wait);
    return result;
}

/* The sets of a wait with parts: the kernel empties them when the first one is over. */
struct sets {
    fd_set *sets[3];
    size_t bytes; /* of each; 0: nothing is kept */
    fd_set kept[3];
};

static void sets_keep(struct sets *it, struct sleep *sleep, int count)
{
    enum { WORD_BITS = 8 * sizeof(long) };
    it->bytes = 0;
    memset(it->kept, 0, sizeof it->kept);
    if (likely(sleep->first_ns == 0))
        return;
    if (count < 0 || count > FD_SETSIZE) {
        sleep->first_ns = 0;
        return;
    }
    it->bytes = ((size_t)count + WORD_BITS - 1) / WORD_BITS * sizeof(long);
    for (unsigned i = 0; i < COUNT_OF(it->sets); i++)
        if (it->sets[i] != NULL)
            memcpy(&it->kept[i], it->sets[i], it->bytes);
}

static void sets_again(struct sets *it)
{
    for (unsigned i = 0; i < COUNT_OF(it->sets); i++)
        if (it->sets[i] != NULL)
            memcpy(it->sets[i], &it->kept[i], it->bytes);
}

static int select_on(struct sleep *sleep, int count, fd_set *reads, fd_set *writes, fd_set *others)
{
    struct timespec spec, *rest = left(sleep, &spec);
    struct timeval plain = {0, 0};
    if (!sleep->plain)
        return NEXT(pselect)(count, reads, writes, others, rest, &sleep->mask);
    if (rest != NULL)
        plain = (struct timeval){rest->tv_sec, rest->tv_nsec / 1000};
    return NEXT(select)(count, reads, writes, others, rest == NULL ? NULL : &plain);
}

/* libc takes more than a second of microseconds, too. Negative: for libc to judge. */
static struct timespec spec_of(const struct timeval *timeout)
{
    uint64_t us = (uint64_t)timeout->tv_usec;
    time_t carried;
    if (timeout->tv_usec < 0 ||
        __builtin_add_overflow(timeout->tv_sec, (time_t)(us / 1000000), &carried))
        return (struct timespec){-1, 0};
    return (struct timespec){carried, (long)(us % 1000000) * 1000};
}

/* The kernel writes the time that is left to `timeout`, also where the call was cut short. */
EXPORT int select(int count, fd_set *restrict reads, fd_set *restrict writes,
                  fd_set *restrict others, struct timeval *restrict timeout)
{
    struct sleep sleep;
    struct timespec spec = timeout == NULL ? (struct timespec){0, 0} : spec_of(timeout);
    if (spec.tv_sec < 0)
        return NEXT(select)(count, reads, writes, others, timeout);
    bool again = sleep_begin(&sleep, sleep_ns(timeout == NULL ? NULL : &spec));
    struct sets sets = {.sets = {reads, writes, others}};
    sets_keep(&sets, &sleep, count);
    int result = again ? select_on(&sleep, count, reads, writes, others)
                       : NEXT(select)(count, reads, writes, others, timeout);
    while (call_again(&sleep, result)) {
        again = true;
        sets_again(&sets);
        result = select_on(&sleep, count, reads, writes, others);
    }
    if (again && timeout != NULL) {
        uint64_t us = ns_until(sleep.until_ns) / 1000;
        *timeout = (struct timeval){(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
    }
    interrupt_wait_end(&sleep.wait);
    return result;
}

EXPORT int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
                   fd_set *restrict others, const struct timespec *restrict timeout,
                   const sigset_t *restrict mask)
{
    struct sleep sleep;
    struct timespec rest;
    if (!sleep_is_timeout(timeout))
        return NEXT(pselect)(count, reads, writes, others, timeout, mask);
    bool blocked = sleep_begin(&sleep, sleep_ns(timeout));
    struct sets sets = {.sets = {reads, writes, others}};
    sets_keep(&sets, &sleep, count);
    int result = NEXT(pselect)(count, reads, writes, others,
                               sleep.first_ns != 0 ? left(&sleep, &rest) : timeout,
                               blocked && mask == NULL ? &sleep.mask : mask);
    while (call_again(&sleep, result)) {
        sets_again(&sets);
        result = NEXT(pselect)(count, reads, writes, others, left(&sleep, &rest),
                               mask == NULL ? &sleep.mask : mask);
    }
    interrupt_wait_end(&sleep.wait);
    return result;
}

enum epoll { EPOLL_WAIT, EPOLL_PWAIT, EPOLL_PWAIT2 };

/* By the program's own call: a seccomp filter may forbid the others. */
static int epoll_now(enum epoll call, int fd, struct epoll_event *events, int events_max)
{
    static const struct timespec at_once;
    return call == EPOLL_WAIT    ? NEXT(epoll_wait)(fd, events, events_max, 0)
           : call == EPOLL_PWAIT ? NEXT(epoll_pwait)(fd, events, events_max, 0, NULL)
                                 : next.epoll_pwait2(fd, events, events_max, &at_once, NULL);
}

/* Not by epoll_pwait, which ends for a signal that has no handler if that was blocked before. */
static int epoll_on(struct sleep *sleep, enum epoll call, int fd, struct epoll_event *events,
                    int events_max, const sigset_t *mask)
{
    struct pollfd ready = {fd, POLLIN, 0};
    struct timespec rest;
    int result, waited = 1; /* another thread may be faster */
    while ((result = epoll_now(call, fd, events, events_max)) == 0 && waited > 0)
        waited = NEXT(ppoll)(&ready, 1, left(sleep, &rest), mask == NULL ? &sleep->mask : mask);
    return result != 0 ? result : waited;
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int events_max, int timeout_ms)
{
    struct sleep sleep;
    bool blocked = sleep_begin(&sleep, ns_of_ms(timeout_ms));
    int result = blocked ? epoll_on(&sleep, EPOLL_WAIT, fd, events, events_max, NULL)
                         : NEXT(epoll_wait)(fd, events, events_max, timeout_ms);
    while (call_again(&sleep, result))
        result = sleep.plain ? NEXT(epoll_wait)(fd, events, events_max, left_ms(&sleep))
                             : epoll_on(&sleep, EPOLL_WAIT, fd, events, events_max, NULL);
    interrupt_wait_end(&sleep.wait);
    return result;
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int events_max, int timeout_ms,
                       const sigset_t *mask)
{
    struct sleep sleep;
    bool blocked = sleep_begin(&sleep, ns_of_ms(timeout_ms));
    int result = blocked ? epoll_on(&sleep, EPOLL_PWAIT, fd, events, events_max, mask)
                         : NEXT(epoll_pwait)(fd, events, events_max, timeout_ms, mask);
    while (call_again(&sleep, result))
        result = sleep.plain ? NEXT(epoll_pwait)(fd, events, events_max, left_ms(&sleep), mask)
                             : epoll_on(&sleep, EPOLL_PWAIT, fd, events, events_max, mask);
    interrupt_wait_end(&sleep.wait);
    return result;
}

/* Not in every libc. */
EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int events_max,
                        const struct timespec *timeout, const sigset_t *mask)
{
    struct sleep sleep;
    struct timespec rest;
    if (NEXT(epoll_pwait2) == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (!sleep_is_timeout(timeout))
        return next.epoll_pwait2(fd, events, events_max, timeout, mask);
    bool blocked = sleep_begin(&sleep, sleep_ns(timeout));
    int result = blocked ? epoll_on(&sleep, EPOLL_PWAIT2, fd, events, events_max, mask)
                         : next.epoll_pwait2(fd, events, events_max, timeout, mask);
    while (call_again(&sleep, result))
        result = sleep.plain ? next.epoll_pwait2(fd, events, events_max, left(&sleep, &rest), mask)
                             : epoll_on(&sleep, EPOLL_PWAIT2, fd, events, events_max, mask);
    interrupt_wait_end(&sleep.wait);
    return result;
}

/* The kernel lets ppoll last up to 0.5 % longer, which nanosleep does not: what is long is waited
 * for in several steps. */
enum { EXACT_NS = 20000000, STEP = 128 };

static int ppoll_step(struct sleep *sleep, uint64_t ns, uint64_t ns_max)
{
    ns = ns > EXACT_NS ? ns - ns / STEP : ns;
    struct timespec rest = sleep_spec(ns < ns_max ? ns : ns_max);
    return NEXT(ppoll)(NULL, 0, &rest, &sleep->mask);
}

static int ppoll_rest(struct sleep *sleep)
{
    uint64_t ns;
    int result;
    do {
        ns = ns_until(call_end_ns(sleep));
        result = ppoll_step(sleep, ns, UINT64_MAX);
    } while (result == 0 && ns > EXACT_NS);
    return result;
}

static int nanosleep_on(struct sleep *sleep)
{
    struct timespec spec;
    return sleep->plain ? NEXT(nanosleep)(left(sleep, &spec), NULL) : ppoll_rest(sleep);
}

EXPORT int nanosleep(const struct timespec *length, struct timespec *remaining)
{
    struct sleep sleep;
    struct timespec unslept = {0, 0};
    if (!sleep_is_length(length))
        return NEXT(nanosleep)(length, remaining);
    bool again = sleep_begin(&sleep, sleep_ns(length));
    int result = again ? nanosleep_on(&sleep) : NEXT(nanosleep)(length, &unslept);
    while (call_again(&sleep, result)) {
        again = true;
        result = nanosleep_on(&sleep);
    }
    if (cut(result) && remaining != NULL)
        *remaining = again ? sleep_spec(ns_until(sleep.until_ns)) : unslept;
    interrupt_wait_end(&sleep.wait);
    return result;
}

/* Until a time on that clock. */
static uint64_t ns_until_on(clockid_t clock, const struct timespec *until)
{
    struct timespec now;
    clock_gettime(clock, &now);
    uint64_t wanted = sleep_ns(until), is = sleep_ns(&now);
    return wanted > is ? wanted - is : 0;
}

/* CLOCK_REALTIME may be set meanwhile, and is asked every second. */
static int sleep_until(struct sleep *sleep, clockid_t clock, const struct timespec *until)
{
    uint64_t ns, ns_max = clock == CLOCK_REALTIME ? SLEEP_NS : UINT64_MAX;
    int result;
    do {
        ns = ns_until_on(clock, until);
        result = ppoll_step(sleep, ns, ns_max);
    } while (result == 0 && ns > EXACT_NS);
    return result;
}

static int sleep_on(struct sleep *sleep, clockid_t clock, int flags, const struct timespec *length)
{
    struct timespec rest;
    if (sleep->plain && !(flags & TIMER_ABSTIME))
        length = left(sleep, &rest);
    if (sleep->plain)
        return NEXT(clock_nanosleep)(clock, flags, length, NULL);
    int kept = errno, result = flags & TIMER_ABSTIME && sleep->first_ns == 0
                                   ? sleep_until(sleep, clock, length)
                                   : ppoll_rest(sleep);
    int error = result < 0 ? errno : 0;
    errno = kept;
    return error;
}

/* Other clocks go on while the machine is suspended, or count CPU time: no other call waits for
 * them. */
static int sleep_on_other(clockid_t clock, int flags, const struct timespec *length,
                          struct timespec *remaining)
{
    struct interrupt_wait wait;
    struct timespec until = {0, 0};
    int kept = errno;
    bool again = false, relative = !(flags & TIMER_ABSTIME);
    if (relative && sleep_is_length(length) && clock_gettime(clock, &until) == 0)
        until = sleep_spec(sleep_ns(&until) + sleep_ns(length));
    interrupt_wait_begin_anew(&wait);
    int error = NEXT(clock_nanosleep)(clock, flags, length, remaining);
    while (error == EINTR && interrupt_wait_anew(&wait)) {
        again = true;
        error = NEXT(clock_nanosleep)(clock, TIMER_ABSTIME, relative ? &until : length, NULL);
    }
    if (again && error == EINTR && relative && remaining != NULL)
        *remaining = sleep_spec(ns_until_on(clock, &until));
    interrupt_wait_end(&wait);
    errno = kept;
    return error;
}

/* The result is an error, not errno. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *length,
                           struct timespec *remaining)
{
    struct sleep sleep;
    bool usual = (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && sleep_is_length(length) &&
                 (flags & ~TIMER_ABSTIME) == 0;
    if (!usual)
        return sleep_on_other(clock, flags, length, remaining);
    bool again = sleep_begin(&sleep, !(flags & TIMER_ABSTIME)      ? sleep_ns(length)
                                     : load_relaxed(&mirror_child) ? ns_until_on(clock, length)
                                                                   : UINT64_MAX);
    int error = again ? sleep_on(&sleep, clock, flags, length)
                      : NEXT(clock_nanosleep)(clock, flags, length, remaining);
    while (sleep_again(&sleep, error == 0, error == EINTR)) {
        again = true;
        error = sleep_on(&sleep, clock, flags, length);
    }
    if (again && error != 0 && !(flags & TIMER_ABSTIME) && remaining != NULL)
        *remaining = sleep_spec(ns_until(sleep.until_ns));
    interrupt_wait_end(&sleep.wait);
    return error;
}

EXPORT int pause(void)
{
    struct sleep sleep;
    struct timespec rest;
    bool blocked = sleep_begin(&sleep, UINT64_MAX);
    int result = blocked ? NEXT(ppoll)(NULL, 0, left(&sleep, &rest), &sleep.mask) : NEXT(pause)();
    while (call_again(&sleep, result))
        result = sleep.plain ? NEXT(pause)() : NEXT(ppoll)(NULL, 0, NULL, &sleep.mask);
    interrupt_wait_end(&sleep.wait);
    return result;
}

EXPORT int sigsuspend(const sigset_t *mask)
{
    struct sleep sleep;
    struct timespec rest;
    sleep_begin(&sleep, UINT64_MAX);
    int result = sleep.first_ns != 0 ? NEXT(ppoll)(NULL, 0, left(&sleep, &rest), mask)
                                     : NEXT(sigsuspend)(mask);
    while (call_again(&sleep, result))
        result = NEXT(sigsuspend)(mask);
    interrupt_wait_end(&sleep.wait);
    return result;
}
