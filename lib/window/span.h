/* SPDX-License-Identifier: MIT */
/*
 * A span: a run of units, cut into blocks of one class, or one large block, or free. Spans are
 * known by a 32-bit id, their place in one table; `window.units` leads from an address to the id.
 *
 * Which entries of `window.units` count: the first and the last unit of every span, and all units
 * of a span of blocks. Others may hold an old id, so `free_at` in pages.c checks that the span
 * covers the unit; `span_find` does not use the table and looks at all spans.
 *
 * One cache line a span. `state` is the truth from which a forked child rebuilds every list, so it
 * is written last when a span comes to be and first when it ends: a child that was cut off in
 * between loses the pages and never sees them twice.
 */
#ifndef WINDOW_SPAN_H
#define WINDOW_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/window/arena.h"

enum span_state {
    SPAN_NONE,
    SPAN_DIRTY, /* free; may be in memory */
    SPAN_CLEAN, /* free; never touched, or returned to the kernel */
    SPAN_BUSY,  /* free; being returned just now */
    SPAN_BLOCKS,
    SPAN_LARGE,
};

/* Why blocks are observed: a set. A free of one always leaves the hot path. */
enum block_kind {
    KIND_RECORDED = 1 << 0, /* sampled, or all are: each has a record */
    KIND_OWNED = 1 << 1,    /* they have an owner (owner.h), which `owner` names */
};

/* What an observer keeps about a watched block. This room only keeps the place for it. */
struct record {
    uint32_t site;
    uint16_t slack; /* usable size less what was asked for */
    uint16_t born_high;
    uint32_t born_low;
};

/* When the block of a record began: the lower RECORD_BORN_BITS bits of the tick counter. */
enum { RECORD_BORN_BITS = 48 };
INLINE uint64_t record_born(const struct record *record)
{
    return (uint64_t)record->born_high << 32 | record->born_low;
}

/* The same for a large block. */
struct large_record {
    struct record record;
    size_t requested;
};

struct span {
    uint32_t first, units;
    uint32_t next, prev; /* in the list that its state puts it in; ids */
    uint8_t state;
    uint8_t mark;    /* blocks: what a block of it is marked with when handed out */
    uint8_t pool;    /* whose it is */
    uint8_t kinds;   /* blocks or large: why they are observed (enum block_kind); 0: they are not */
    uint16_t blocks; /* blocks that it is cut into, */
    uint16_t free;   /* and those of them that are here: bits set below */
    uint32_t
        record;    /* watched: the large block's record, or where the table of them is (meta id) */
    bool zero : 1; /* free: reads as zero */
    bool full : 1; /* every page is in memory: all were written to since the span was last clean */
    uint8_t reached : 6; /* blocks: how far any was ever taken (central.c) */
    uint8_t taker;       /* blocks: side of the threads that take from it first (central.c) */
    uint16_t home;       /* blocks: which list it is in while it has free ones (central.c) */
    union {
        uint64_t bits[SPAN_BLOCKS_MAX / 64]; /* blocks: 1 = free and here */
        struct {                             /* of an owner, blocks or large: it has fewer bits */
            uint64_t bits_owned[3];
            uint32_t owner; /* meta id */
        };
        struct {             /* large: */
            uint32_t length; /* units of the block; the run may be longer (large.c) */
            bool moved;      /* its memory came from elsewhere: the kernel's mappings say so */
            uint16_t slack;  /* bytes behind what was asked for; 0 unless it is hardened */
        };
        struct { /* dirty: in the order of age */
            uint32_t older, newer;
            uint64_t since_ms;
            uint8_t side; /* of the thread that gave it */
            bool alone;   /* not joined with its neighbours, */
            bool ground;  /* or only with others of its side (clean; pages.h) */
        };
    };
};

_Static_assert(sizeof(struct span) == 64, "one cache line a span");
enum { HOME_OWNED = UINT16_MAX }; /* `home` of blocks with an owner: in no list of central.c */
_Static_assert(offsetof(struct span, owner) >= offsetof(struct span, ground) + sizeof(bool),
               "pages_shorten leaves the owner of a large span alone");
_Static_assert(offsetof(struct span, slack) < offsetof(struct span, since_ms),
               "pages_shorten writes the time in a large span");

INLINE struct span *span_at(uint32_t id)
{
    return window.spans + id;
}

INLINE uint32_t span_id(const struct span *span)
{
    return (uint32_t)(span - window.spans);
}

INLINE char *span_start(const struct span *span)
{
    return unit_address(span->first);
}

/* The span of a block that is known to be live or cached: no check. */
INLINE struct span *span_of(const void *block)
{
    return span_at(window.units[unit_of(block)]);
}

/* Which block of the span p is in. */
INLINE unsigned span_index(const struct span *span, const void *p, unsigned class)
{
    uint64_t granules = (((uintptr_t)p - window.base) >> GRANULE_SHIFT) -
                        ((uint64_t)span->first << (UNIT_SHIFT - GRANULE_SHIFT));
    return (unsigned)((granules * size_classes[class].inverse) >> 31);
}

INLINE char *span_block(const struct span *span, unsigned index, unsigned class)
{
    return span_start(span) + (size_t)index * class_size(class);
}

/* The span in use that covers p, or NULL. Slow and safe for any p: for error messages and mallctl's
 * experimental queries. */
struct span *span_find(const void *p);
/* A new id and the number of ids that exist. */
uint32_t span_new_id(void);
uint32_t span_count(void);
void span_set_units(const struct span *span, bool all);

#endif
