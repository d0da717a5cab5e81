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

/* UINT64_MAX if `spec` is NULL or too long for a sum of nanoseconds. */
INLINE uint64_t sleep_ns(const struct timespec *spec)
{
    if (spec == NULL || (uint64_t)spec->tv_sec > UINT64_MAX / SLEEP_NS / 2 || spec->tv_sec < 0)
        return UINT64_MAX;
    return (uint64_t)spec->tv_sec * SLEEP_NS + (uint64_t)spec->tv_nsec;
}

INLINE struct timespec sleep_spec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / SLEEP_NS), (long)(ns % SLEEP_NS)};
}

/* False: libc is asked, which refuses the time or waits for it. */
INLINE bool sleep_is_length(const struct timespec *spec)
{
    return spec != NULL && sleep_ns(spec) != UINT64_MAX && spec->tv_nsec >= 0 &&
           spec->tv_nsec < SLEEP_NS;
}

uint64_t sleep_file_decide(uint64_t ns);

/* Before a wait of `ns`; UINT64_MAX: for ever. Keeps errno. How long the first part of the wait is
 * to be, after which this is called once more; 0: there are no parts. */
INLINE uint64_t sleep_file_look(uint64_t ns)
{
    return unlikely(load_relaxed(&mirror_child)) && ns != 0 ? sleep_file_decide(ns) : 0;
}

#endif
