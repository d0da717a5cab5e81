/* SPDX-License-Identifier: MIT */
/*
 * What this room tells the observers: a list for each event. A new observer adds its calls here;
 * only blocks reach it from other places: `track_begin` and `track_end` are called where they begin
 * and end (cold_take.c, cold_large.c, cold_free.c, cold_realloc.c, cold_owned.c, guarding.c,
 * debugging.c). The order in a list is that in which locks of the process are repaired, so an
 * observer stands behind those that it uses. No hot path passes here.
 */
#ifndef API_OBSERVERS_H
#define API_OBSERVERS_H

#include "lib/cpu/cpu.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/leak/leak.h"

/* In a forked child, by its first call: before the allocator is repaired, and after. */
INLINE void observers_forked_before(void)
{
    declared_recover();
}

INLINE void observers_forked(uint32_t parent_id, bool first)
{
    track_recover(parent_id, first);
    cpu_forked(parent_id);
    cells_recover(parent_id);
    debug_queue_recover(parent_id);
    report_forked();
}

/* There, by the thread that forked, if another one was first. */
INLINE void observers_forked_claim(void)
{
    track_claim();
}

/* There, from libc's fork handler, outside of the allocator. */
INLINE void observers_fork_child(void)
{
    cpu_fork_child();
}

/* Whether one of them wants to hear of a new thread; and in that thread. */
INLINE bool observers_want_threads(void)
{
    return load_relaxed(&cpu_running) || load_relaxed(&waits_running);
}

INLINE void observers_thread_begin(void)
{
    if (load_relaxed(&cpu_running))
        cpu_thread_begin();
}

/* In a thread that ends: outside of the allocator, then inside. */
INLINE void observers_thread_end(const struct caller *caller)
{
    cpu_thread_end(caller);
}

INLINE void observers_thread_end_inside(void)
{
    track_thread_end();
    counts_all(heap_self);
}

/* A signal handler jumped out of a call (abandoned.h): before the allocator is mended, and
 * after. */
INLINE void observers_abandoned_before(void)
{
    cells_abandoned();
    debug_queue_abandoned();
}

INLINE void observers_abandoned(void)
{
    track_abandoned();
}

#endif
