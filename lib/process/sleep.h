/* SPDX-License-Identifier: MIT */
/*
 * What the wrappers of calls that wait do first: a forked child that has no recorder file yet may
 * make it before a wait that may last, since it may be killed there.
 */
#ifndef PROCESS_SLEEP_H
#define PROCESS_SLEEP_H

#include <stdint.h>

#include "base/compiler.h"
#include "lib/watch/watch.h"

void sleep_file_make(uint64_t ns);

/* Before a wait of `ns`; UINT64_MAX: for ever. Keeps errno. */
INLINE void sleep_file_look(uint64_t ns)
{
    if (unlikely(load_relaxed(&mirror_child)) && ns != 0)
        sleep_file_make(ns);
}

#endif
