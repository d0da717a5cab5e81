/* SPDX-License-Identifier: MIT */
/*
 * See lib/window/meta.h. No lock: with thousands of threads on a few CPUs its owner is often not
 * running, and a thread needs a hundred pieces before its bins are as large as it needs them.
 */
#include "lib/window/meta.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/window/arena.h"

/* Lists of freed pieces from 64 bytes, the smallest stock, to 2 GiB. */
enum { SMALLEST_SHIFT = 6, LINE = 1 << SMALLEST_SHIFT, SHIFTS = 26 };

/* Freed pieces by size: the number of the first one, which holds the number of the next in its
 * first word. Above it is a count of the pieces taken, so that a thread that has read the next one
 * and is late finds another word here, even if the same piece is the first again. */
static uint64_t waiting[SHIFTS];
static size_t used = 1 << META_ID_SHIFT; /* number 0 means "none" */

static unsigned shift_of(size_t bytes);
static void *take_waiting(unsigned shift);
RACY static NOINLINE uint32_t next_of(const uint32_t *piece);
static void *take_fresh(size_t bytes);

void *meta_take(size_t bytes)
{
    unsigned shift = shift_of(bytes);
    if (shift >= SHIFTS)
        return NULL;
    void *piece = take_waiting(shift);
    return piece != NULL ? memset(piece, 0, bytes) : take_fresh((size_t)1 << shift);
}

static unsigned shift_of(size_t bytes)
{
    unsigned shift = SMALLEST_SHIFT;
    while (((size_t)1 << shift) < bytes)
        shift++;
    return shift;
}

/* The first one, or NULL. */
static void *take_waiting(unsigned shift)
{
    uint64_t seen = load_acquire(&waiting[shift]), rest;
    void *piece;
    do {
        if ((uint32_t)seen == 0)
            return NULL;
        piece = meta_at((uint32_t)seen);
        rest = ((seen >> 32) + 1) << 32 | next_of(piece);
    } while (!__atomic_compare_exchange_n(&waiting[shift], &seen, rest, true, __ATOMIC_ACQUIRE,
                                          __ATOMIC_ACQUIRE));
    return piece;
}

/* The piece may be taken and written to while its first word is read. */
RACY static NOINLINE uint32_t next_of(const uint32_t *piece)
{
    return load_relaxed(piece);
}

/* Memory that was never used: zero, and not touched yet. */
static void *take_fresh(size_t bytes)
{
    size_t seen = load_relaxed(&used), at;
    do {
        at = (seen + LINE - 1) & ~(size_t)(LINE - 1);
        if (!arena_need_meta(at + bytes))
            return NULL;
    } while (!__atomic_compare_exchange_n(&used, &seen, at + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return window.meta + at;
}

void *meta_take_now(size_t bytes)
{
    return lock_held != 0 ? NULL : meta_take(bytes);
}

void *meta_take_for_ever(size_t bytes)
{
    return take_fresh(bytes);
}

void meta_give(void *memory, size_t bytes)
{
    unsigned shift = shift_of(bytes);
    uint64_t seen = load_relaxed(&waiting[shift]), first;
    do {
        store_relaxed((uint32_t *)memory, (uint32_t)seen);
        first = seen >> 32 << 32 | meta_id(memory);
    } while (!__atomic_compare_exchange_n(&waiting[shift], &seen, first, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
}

size_t meta_used(void)
{
    return load_relaxed(&used);
}

uint32_t meta_id(const void *memory)
{
    return (uint32_t)((size_t)((const char *)memory - window.meta) >> META_ID_SHIFT);
}
