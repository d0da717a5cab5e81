/* SPDX-License-Identifier: MIT */
/*
 * The window: one contiguous stretch of addresses that every block comes from (but for those of
 * outside.h), with the tables about it below, each growing upwards at its own place:
 *
 *        kinds      units      live         spans      meta               window
 *      |------>   |------>   |------> x3  |------>   |------>      |----------------->      |
 *      mark of    span id    1 byte a     64 bytes   heaps,        base     granules * 16
 *      a unit's   a unit     block's      a span     stocks
 *      blocks                start
 *
 * None of it is reserved: the place is chosen where no kernel puts anything by itself and is
 * claimed piece by piece, without ever replacing a mapping. So a small program has small tables,
 * and RLIMIT_AS, strict overcommit, mlockall and core dumps see what is used and no more.
 *
 * Which block lives: three tables of bytes, a byte for 16, 64 or 256 bytes of the window; the mark
 * says which of them counts. A block is at least as long as what a byte stands for, so at most one
 * begins there, and it alone writes to that byte: 0 while it is free, or where it begins, as
 * `live_sign` tells it. The larger the blocks, the fewer lines they take in the caches.
 *
 * Invariant: the tables are mapped for every address below `granules` before `granules` grows (the
 * piece itself is mapped first, so that a refused one leaves no tables), it only grows, and the
 * bytes of all addresses but the starts of live blocks are 0 in all three. Hence free() may look
 * up any pointer below it, and a unit's kind needs no change when its span ends.
 */
#ifndef WINDOW_ARENA_H
#define WINDOW_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "lib/window/sizes.h"

struct window {
    /* By mark: where the byte for address 0 would be. Its low six bits are also how many bits of an
     * address a byte stands for, so that one load tells both. First in here: aarch64 has no address
     * with an index and an offset. */
    uintptr_t live[MARK_COUNT];
    uintptr_t base;
    size_t granules;     /* how far the window is open, in granules */
    uint8_t *kinds;      /* by unit: the mark of the blocks that begin there, if any does */
    uint8_t *kinds_at_0; /* where the byte for address 0 would be: free finds one without `base` */
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
/* Whether the option `limit` forbids `more` bytes. */
bool arena_limited(size_t more);
/* Whether the kernel's setting for overcommit lets one call of malloc have `more` bytes. */
bool arena_grants(size_t more);
/* Counts bytes of blocks that lie elsewhere for it; negative ones go back to the kernel. */
void arena_beside(ptrdiff_t bytes);
/* Makes the table of spans, or the metadata, at least `bytes` long. False when memory is out. */
bool arena_need_spans(size_t bytes);
bool arena_need_meta(size_t bytes);

/* The first part of the window, or of a table, that ends behind `at`; false if there is none. Other
 * mappings may lie between them, and before `window.granules`. For a process that stands still. */
bool arena_part(uintptr_t at, uintptr_t *start, uintptr_t *end);
/* Puts fresh memory in the place of what is there, as if it had just been claimed. */
bool arena_renew(void *at, size_t bytes);

/* In a child whose parent's other thread was inside: what it mapped and did not note down goes. */
void arena_recover(void);

/* For accounting. */
/* Bytes of the window that are mapped. */
size_t arena_claimed(void);
size_t arena_mapped(void);
/* In memory, of the tables and of the window: `parts_max` as for os_resident, for each. */
size_t arena_tables_resident(size_t parts_max);
size_t arena_resident(size_t parts_max);

/* Whether the address is in the open part of the window. */
INLINE bool window_has(const void *p)
{
    return (uintptr_t)p - window.base < load_relaxed(&window.granules) * GRANULE;
}

/* How many bits of an address a byte of a table of `window.live` stands for. */
INLINE unsigned live_shift(uintptr_t table)
{
    return table & 63;
}

/* The byte for p in such a table. Two threads that have neighbouring spans never write to one line:
 * in the table of a byte for 64 bytes a unit is a line, for which `LIVE_BACK` makes up for the low
 * bits of `table`; in that of a byte for 256 bytes, four units are a line (`size_class.step`), and
 * with the table's two bytes more, the last 512 bytes of a span are in the line of what follows. */
enum { LIVE_BACK = 6, LIVE_LINE = 64 };

INLINE uint8_t *live_in(uintptr_t table, const void *p)
{
    return (uint8_t *)(table + ((uintptr_t)p >> live_shift(table))) - LIVE_BACK;
}

/* What it holds while the block at p lives. For a multiple of 16 it is never 0, and no other in the
 * range of the byte has the same. */
INLINE uint8_t live_sign(const void *p)
{
    return (uint8_t)((uintptr_t)p + 1);
}

/* And while it is watched. */
INLINE uint8_t live_sign_watched(const void *p)
{
    return (uint8_t)((uintptr_t)p + 2);
}

/* And while it is hardened, has a class, and is not watched: calls go cold for it, too. */
INLINE uint8_t live_sign_hardened(const void *p)
{
    return (uint8_t)((uintptr_t)p + 3);
}

/* Whether the sign at p is one of the last two. */
INLINE bool live_is_cold(uint8_t sign, const void *p)
{
    return (uint8_t)(sign - live_sign_watched(p)) <= 1;
}

INLINE char *unit_address(uint32_t unit)
{
    return (char *)(window.base + ((uintptr_t)unit << UNIT_SHIFT));
}

INLINE uint32_t unit_of(const void *p)
{
    return (uint32_t)(((uintptr_t)p - window.base) >> UNIT_SHIFT);
}

/* The byte of a block whose unit has its kind. */
INLINE uint8_t *live_at(const void *block)
{
    return live_in(window.live[window.kinds[unit_of(block)]], block);
}

/* What lives at p, an address in the window and a multiple of 16: the mark of its class, or that of
 * a large or a watched block, or MARK_FREE. */
INLINE unsigned mark_of(const void *p)
{
    unsigned kind = window.kinds[unit_of(p)];
    uint8_t sign = load_relaxed(live_in(window.live[kind], p));
    return sign == live_sign(p) ? kind : live_is_cold(sign, p) ? MARK_WATCHED : MARK_FREE;
}

#endif
