/* SPDX-License-Identifier: MIT */
/*
 * What the wrappers of calls that wait do first: a forked child that has no recorder file yet may
 * make it before a wait that may last, since it may be killed there. Whether it is to have one is
 * known some milliseconds after the fork only (lib/dump/recorder_file.h): a wait that lasts longer
 * has two parts, and the child decides between them.
 */
#ifndef PROCESS_SLEEP_H
#define PROCESS_SLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"
#include "lib/watch/watch.h"

enum { SLEEP_NS = 1000000000, NS_A_MS = 1000000 }; /* of a second, of a millisecond */

/* UINT64_MAX if `spec` is NULL or negative. What is too long for a sum of nanoseconds is longer
 * than a kernel runs: a part of it is as good. */
INLINE uint64_t sleep_ns(const struct timespec *spec)
{
    if (spec == NULL || spec->tv_sec < 0)
        return UINT64_MAX;
    if ((uint64_t)spec->tv_sec >= UINT64_MAX / SLEEP_NS / 2)
        return UINT64_MAX / 2;
    return (uint64_t)spec->tv_sec * SLEEP_NS + (uint64_t)spec->tv_nsec;
}

INLINE struct timespec sleep_spec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / SLEEP_NS), (long)(ns % SLEEP_NS)};
}

/* False: libc is asked, which refuses the time. */
INLINE bool sleep_is_length(const struct timespec *spec)
{
    return spec != NULL && spec->tv_sec >= 0 && spec->tv_nsec >= 0 && spec->tv_nsec < SLEEP_NS;
}

/* False: the kernel refuses it. NULL: for ever. */
INLINE bool sleep_is_timeout(const struct timespec *spec)
{
    return spec == NULL || sleep_is_length(spec);
}

/* Whether a wait of `ns` (UINT64_MAX: for ever) is that of a child without a file. */
INLINE bool sleep_in_child(uint64_t ns)
{
    return unlikely(load_relaxed(&mirror_child)) && ns != 0;
}

/* In such a child, before the wait: blocks all signals, since one that came while the file is made
 * would not end the wait; then makes the file, if that is decided. Keeps errno. The result is the
 * length of the first part of the wait, after which this is called once more; 0: the wait has no
 * parts. */
uint64_t sleep_file_decide(struct interrupt_wait *wait, uint64_t ns);
/* The same for a call that lets no signals through while it waits. True: one of the program's has
 * come, its handler has run, and the call must not wait. */
bool sleep_file_decide_anew(struct interrupt_wait *wait, uint64_t ns);

/* In any process. */
INLINE bool sleep_file_look_anew(struct interrupt_wait *wait, uint64_t ns)
{
    return sleep_in_child(ns) && sleep_file_decide_anew(wait, ns);
}

#endif
