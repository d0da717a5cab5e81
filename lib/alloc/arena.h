/* SPDX-License-Identifier: MIT */
/*
 * The window: one contiguous stretch of addresses that every block comes from (but for those of
 * outside.h), with the tables about it below, each growing upwards at its own place:
 *
 *        marks        units      spans      meta                  window
 *      |------>     |------>   |------>   |------>      |----------------->              |
 *      1 byte a     span id    64 bytes   heaps,        base            granules * 16
 *      granule      a unit     a span     stocks
 *
 * None of it is reserved: the place is chosen where no kernel puts anything by itself and is
 * claimed piece by piece, without ever replacing a mapping. So a small program has small tables,
 * and RLIMIT_AS, strict overcommit, mlockall and core dumps see what is used and no more.
 *
 * Invariant: marks and units are mapped and zero for every address below `granules`, before the
 * address itself is; `granules` only grows. Hence free() may look up any pointer below it.
 */
#ifndef ALLOC_ARENA_H
#define ALLOC_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "lib/alloc/sizes.h"

struct window {
    uintptr_t base;
    size_t granules;     /* how far the window is open, in granules */
    uint8_t *marks;      /* by granule */
    uintptr_t mark_bias; /* marks - base / 16: the mark of p is at mark_bias + p / 16 */
    uint32_t *units;     /* by unit: id of the span there (see span.h for which units count) */
    struct span *spans;  /* by id */
    char *meta;          /* the allocator's own memory (meta.h) */
};

extern HIDDEN struct window window;
extern struct lock arena_lock;

/* Chooses the place. False if there is no memory at all. */
bool arena_init(void);
/* Opens at least `units` more of the window; *got is how many. Returns the first, or 0. */
uint32_t arena_claim(uint32_t units, uint32_t *got);
/* Makes the tables of spans and metadata at least so long. False when memory is out. */
bool arena_need_spans(size_t bytes);
bool arena_need_meta(size_t bytes);

/* In a child whose parent's other thread was inside: what it mapped and did not note down goes. */
void arena_recover(void);

/* For accounting. */
size_t arena_mapped(void);
size_t arena_tables_resident(void);
size_t arena_resident(void);

/* Whether the address is in the open part of the window. */
INLINE bool window_has(const void *p)
{
    return (uintptr_t)p - window.base < load_relaxed(&window.granules) * GRANULE;
}

INLINE uint8_t *mark_at(const void *block)
{
    return (uint8_t *)(window.mark_bias + ((uintptr_t)block >> GRANULE_SHIFT));
}

INLINE char *unit_address(uint32_t unit)
{
    return (char *)(window.base + ((uintptr_t)unit << UNIT_SHIFT));
}

INLINE uint32_t unit_of(const void *p)
{
    return (uint32_t)(((uintptr_t)p - window.base) >> UNIT_SHIFT);
}

#endif
