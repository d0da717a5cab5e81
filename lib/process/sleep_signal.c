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
#include "base/confine.h"
#include "base/os.h"
#include "base/os_thread.h"
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

/* What the thread does not block, and libc does not keep for itself. */
static void set_widen(sigset_t *set, uint64_t mask)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    bits |= ~mask & ~INTERRUPT_OF_LIBC;
    memcpy(set, &bits, sizeof bits);
}

static bool is_in(const sigset_t *set, int number)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits >> (number - 1) & 1;
}

/* A signal that was taken, and is not waited for, comes again. Whether its handler has run. */
static bool give_back(int number, const siginfo_t *info, struct interrupt_wait *wait)
{
    const void *handler = os_handler(number);
    if (interrupt_is_ours(handler) && interrupt_take(info))
        return false;
    os_signal_again(number, info);
    interrupt_wait_open(wait);
    if (handler == NULL)
        interrupt_wait_hold(wait);
    return handler != NULL;
}

/* In a child that has no recorder file yet: a wait with a first part (sleep.h). While the file is
 * made, and between two calls, all signals are blocked; so the call takes them, too. */
static int child_wait(const sigset_t *set, siginfo_t *got, uint64_t ns)
{
    struct interrupt_wait wait;
    sigset_t wide = *set;
    uint64_t now_ns = os_now_ns(), until_ns = ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + ns;
    interrupt_wait_begin(&wait, false);
    uint64_t first_ns = sleep_file_decide(&wait, ns);
    uint64_t first_until_ns = first_ns == 0 ? UINT64_MAX : os_now_ns() + first_ns;
    set_widen(&wide, wait.mask);
    int result;
    for (;;) {
        uint64_t end_ns = until_ns < first_until_ns ? until_ns : first_until_ns;
        now_ns = os_now_ns();
        const struct timespec left = sleep_spec(end_ns > now_ns ? end_ns - now_ns : 0);
        result = next_timed(&wide, got, end_ns == UINT64_MAX ? NULL : &left);
        if (result < 0 && errno == EAGAIN && end_ns != until_ns) {
            first_until_ns = UINT64_MAX;
            if (sleep_in_child(UINT64_MAX))
                sleep_file_decide(&wait, UINT64_MAX);
        } else if (result < 0) {
            if (errno != EINTR || !interrupt_wait_again(&wait))
                break;
        } else if (is_in(set, result)) {
            if (!interrupt_take(got))
                break;
        } else if (give_back(result, got, &wait)) {
            errno = EINTR;
            result = -1;
            break;
        }
    }
    interrupt_wait_end(&wait);
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
    uint64_t ns = ends ? sleep_ns(timeout) : timeout == NULL ? UINT64_MAX : 0;
    if (sleep_in_child(ns) &&
        !confined((enum confine)(CONFINE_WAITS | CONFINE_SIGNALS | CONFINE_LEAKS)))
        return child_wait(set, got, ns);
    uint64_t until_ns = ends ? os_now_ns() + ns : 0;
    interrupt_wait_begin_anew(&wait);
    sleep_file_look_anew(&wait, ns); /* where a filter forbids a wait with parts */
    int result = next_timed(set, got, timeout);
    while (is_ours(result, got, &wait)) {
        uint64_t now_ns = os_now_ns();
        const struct timespec left = sleep_spec(until_ns > now_ns ? until_ns - now_ns : 0);
        result = next_timed(set, got, ends ? &left : timeout);
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
