/* SPDX-License-Identifier: MIT */
/*
 * Which calls made the heap larger: when a call opens more of the window, its stack and the bytes
 * are remembered. That happens a few times in a program's life, so it is always on. Of the first
 * piece of the window, which every program has, no call is known: small programs pay nothing. The
 * latest `GROWTH_MAX` are kept; the bytes of older ones are added up. Guarded blocks lie elsewhere;
 * their memory counts in steps (lib/api/guarding.c).
 */
#ifndef HEAP_GROWTH_H
#define HEAP_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/window/window.h"

struct caller;

/* The window grows by a share of itself: the last 256 times cover all of a heap up to 16 GiB in
 * pieces of 64 MiB. */
enum { GROWTH_MAX = 256, GROWTH_DEPTH = 30 };

struct growth {
    uint64_t bytes; /* 0: nothing is here, or it is being written */
    uint32_t times; /* 1; of the older ones how many there were */
    uint32_t depth;
    uintptr_t pcs[GROWTH_DEPTH]; /* return addresses, the caller of malloc first */
};

enum { GROWTH_FIRST = 4 << 20 }; /* bytes of the window whose callers are not known */

extern HIDDEN size_t growth_seen; /* granules of the window that are noted, beyond those */
void growth_add(const struct caller *caller);
/* Memory beside the window became more by that, for this call. */
void growth_beside(const struct caller *caller, uint64_t bytes);

/* After a call that took memory, inside of the allocator. */
INLINE void growth_note(const struct caller *caller)
{
    if (unlikely(load_relaxed(&window.granules) >
                 GROWTH_FIRST / GRANULE + load_relaxed(&growth_seen)))
        growth_add(caller);
}

/* The latest first. */
void growth_each(void (*each)(void *context, const struct growth *growth), void *context);

#endif
