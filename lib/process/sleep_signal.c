/* SPDX-License-Identifier: MIT */
/*
 * sigwait, sigwaitinfo and sigtimedwait. A thread that blocks all signals and waits for them, as
 * servers have one, would be handed ours like one of the program's; a scan for lost blocks sends it
 * to every thread. These wrappers take it, and begin again where our handler cut the wait short
 * (lib/watch/interrupt.h), for the time that is left.
 *
 * Each calls libc's function, as in lib/process/sleep.c, and is not in the static archive either.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/process/next.h"
#include "lib/process/sleep.h"
#include "lib/watch/watch.h"

/* libc's, found before the program runs. */
static __typeof__(&sigtimedwait) next_timed;

__attribute__((constructor(102))) static void look_up(void)
{
    next_of((void **)&next_timed, "sigtimedwait");
}

/* Whether the wait is to go on. */
static bool is_ours(int result, const siginfo_t *info, struct interrupt_wait *wait)
{
    if (result > 0)
        return interrupt_take(info);
    return result < 0 && errno == EINTR && interrupt_wait_anew(wait);
}

/* Whether the first part of a wait that has parts (sleep.h) has ended, without a signal. `came`: a
 * signal with a handler, since then. */
static bool first_is_over(struct interrupt_wait *wait, int result, uint64_t *first_ns, bool *came)
{
    if (likely(*first_ns == 0) || result >= 0 || errno != EAGAIN)
        return false;
    *came = sleep_file_look_anew(wait, UINT64_MAX, first_ns);
    *first_ns = 0;
    return true;
}

/* A handler has run: nothing is waited for. */
static int take_or_end(const sigset_t *set, siginfo_t *got)
{
    static const struct timespec at_once;
    int result = next_timed(set, got, &at_once);
    if (result < 0 && errno == EAGAIN)
        errno = EINTR;
    return result;
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                        const struct timespec *restrict timeout)
{
    struct interrupt_wait wait;
    siginfo_t own;
    memset(&own, 0, sizeof own); /* a pointer of an earlier frame may be there */
    siginfo_t *got = info != NULL ? info : &own;
    next_of((void **)&next_timed, "sigtimedwait");
    bool ends = sleep_is_length(timeout);
    uint64_t first_ns, ns = ends ? sleep_ns(timeout) : timeout == NULL ? UINT64_MAX : 0;
    uint64_t until_ns = ends ? os_now_ns() + ns : 0;
    interrupt_wait_begin_anew(&wait);
    bool came = sleep_file_look_anew(&wait, ns, &first_ns);
    const struct timespec first = sleep_spec(first_ns < ns ? first_ns : ns);
    int result =
        came ? take_or_end(set, got) : next_timed(set, got, first_ns != 0 ? &first : timeout);
    while (first_is_over(&wait, result, &first_ns, &came) || is_ours(result, got, &wait)) {
        uint64_t now_ns = os_now_ns();
        const struct timespec left = sleep_spec(until_ns > now_ns ? until_ns - now_ns : 0);
        result = came ? take_or_end(set, got) : next_timed(set, got, ends ? &left : timeout);
    }
    interrupt_wait_end(&wait);
    return result;
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    return sigtimedwait(set, info, NULL);
}

/* The result is an error, not errno, and never EINTR. */
EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
    int kept = errno, result;
    do
        result = sigtimedwait(set, NULL, NULL);
    while (result < 0 && errno == EINTR);
    int error = result < 0 ? errno : 0;
    errno = kept;
    if (result > 0)
        *number = result;
    return error;
}
