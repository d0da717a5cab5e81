/* SPDX-License-Identifier: MIT */
/*
 * Into the slow code and out of it again: nothing of the allocator's or the profiler's own is
 * touched but between the two.
 */
#ifndef API_INSIDE_H
#define API_INSIDE_H

#include "base/lock.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/api/cold.h"
#include "lib/api/young.h"
#include "lib/watch/watch.h"

/* False where that can't be: this thread is inside already (a signal handler came in between, or
 * libc allocates on our behalf), or the allocator could not start. */
static inline bool inside_begin(void)
{
    if (unlikely(lock_held != 0) || unlikely(!init_done()))
        return false;
    lock_enter(LOCK_INSIDE);
    if (unlikely(alloc_forked()))
        cold_recover();
    return true;
}

static inline void inside_end(void)
{
    lock_leave(LOCK_INSIDE);
    if (unlikely(young.look != NULL))
        young.look();
    if (unlikely(load_relaxed(&profile_due)))
        triggers_run();
}

#endif
