/* SPDX-License-Identifier: MIT */
/*
 * Sizes, classes and marks.
 *
 * Classes: every multiple of 16 up to 256, then eight a doubling up to 1 KiB, four a doubling up to
 * 4 KiB, eight again up to 8 KiB (pages of databases with a header are just above 4 KiB), and every
 * 4 KiB up to 32 KiB. Blocks above that are large: runs of pages of their own.
 *
 * A mark is what free() needs to know of a block, as a number: the class, "large" or "watched"; 0
 * where no block lives (arena.h tells how it is found). It is also the number of the bin that takes
 * the block. Blocks of the three tiny classes share cache lines with their neighbours. For them the
 * mark also tells the colour of the heap that handed the block out; a heap of another colour never
 * keeps such a block for itself, which is what makes two threads write to one cache line for ever
 * after.
 */
#ifndef WINDOW_SIZES_H
#define WINDOW_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum {
    GRANULE_SHIFT = 4,
    GRANULE = 1 << GRANULE_SHIFT, /* the smallest block, and the alignment of all */
    UNIT_SHIFT = 12,
    UNIT = 1 << UNIT_SHIFT, /* what spans are counted in: the smallest page a kernel has */

    FINE_MAX = 256,   /* up to here the class is the number of granules, */
    SMALL_MAX = 1024, /* and up to here a table finds it */
    SMALL_GRANULES = SMALL_MAX / GRANULE,
    MIDDLE_MAX = 4096, /* four classes for each doubling up to here, */
    PAGED_MAX = 8192,  /* one for each PAGED_STEP up to here, then one for each unit */
    PAGED_STEP = 512,
    BLOCK_MAX = 32768, /* the largest size with a class; a coarser table finds those above 1 KiB */
    COARSE_SHIFT = 8,
    COARSE_COUNT = (BLOCK_MAX >> COARSE_SHIFT) + 1,

    CLASS_FINE_LAST = FINE_MAX / GRANULE,                           /* 16 */
    CLASS_SMALL_LAST = CLASS_FINE_LAST + 2 * 8,                     /* 32 */
    CLASS_MIDDLE_LAST = CLASS_SMALL_LAST + 2 * 4,                   /* 40 */
    CLASS_PAGED_LAST = CLASS_MIDDLE_LAST + 8,                       /* 48 */
    CLASS_LAST = CLASS_PAGED_LAST + (BLOCK_MAX - PAGED_MAX) / UNIT, /* 54 */
    CLASS_COUNT = CLASS_LAST + 1,                                   /* class 0 holds nothing */

    TINY_CLASSES = 3, /* classes 1 to 3: 16, 32 and 48 bytes */
    COLOURS = 4,      /* of tiny blocks; up to SMALL_MAX it matters only whether it is odd */

    MARK_FREE = 0,
    MARK_LARGE = CLASS_COUNT,
    MARK_WATCHED,
    MARK_TINY, /* the tiny classes of colour 1; then of colour 2, ... */
    MARK_ODD = MARK_TINY + TINY_CLASSES * (COLOURS - 1), /* the other small ones, of odd colours */
    MARK_COUNT = MARK_ODD + CLASS_SMALL_LAST - TINY_CLASSES,

    SPAN_BLOCKS_MAX = 256, /* a bit each: with them a span is one cache line */
};

/* A class, for span.h (`inverse`), central.c (all of it) and `class_size`; filled once by
 * `sizes_init`. */
struct size_class {
    uint32_t size;
    uint32_t inverse; /* 2^31 / (size in granules), rounded up: division by one multiply */
    uint16_t units_min, units_max; /* of a span of this class */
    uint16_t step;                 /* its length and its first unit are multiples of this */
    uint16_t blocks_max;           /* where less is asked for than fits */
};

extern HIDDEN struct size_class size_classes[CLASS_COUNT];
extern HIDDEN uint8_t size_small_class[SMALL_GRANULES + 1]; /* by granules, rounded up */
extern HIDDEN uint8_t size_coarse_class[COARSE_COUNT];      /* for sizes above SMALL_MAX */

/* By mark: the sizes that are given such blocks, as the least and how many more. All sizes for a
 * mark without a class. */
struct size_bounds {
    size_t min, more;
};
extern HIDDEN struct size_bounds size_bounds[MARK_COUNT];
/* From now on no size fits: frees that tell one take the cold path. */
void sizes_close_bounds(void);
/* The least size that is given blocks of the class. */
size_t sizes_min(unsigned class);
/* By mark: the size of its blocks; 0 for a mark without a class. */
extern HIDDEN uint16_t size_usable[MARK_COUNT];

/* Before it: spans of blocks of these sizes are to be `units` long, if that can be. */
void sizes_ask(size_t from, size_t to, size_t units);
void sizes_init(void);
/* The bytes of the shortest span of the class that hold blocks. */
size_t sizes_span(const struct size_class *c);
/* How many blocks a span of the class is cut into. */
unsigned sizes_blocks(const struct size_class *c, size_t units);
/* How large a block must be so that one with a class fits and is aligned. More than BLOCK_MAX: none
 * is. */
size_t sizes_room(size_t size, size_t align);

/* For SMALL_MAX < size <= BLOCK_MAX. */
INLINE unsigned class_of_middle(size_t size)
{
    return size_coarse_class[(size + (1 << COARSE_SHIFT) - 1) >> COARSE_SHIFT];
}

/* For 1 <= size <= BLOCK_MAX. No branch by ranges of sizes: where they are mixed none is foreseen.
 */
INLINE unsigned class_of(size_t size)
{
    if (likely(size <= SMALL_MAX))
        return size_small_class[(size + GRANULE - 1) >> GRANULE_SHIFT];
    return class_of_middle(size);
}

INLINE size_t class_size(unsigned class)
{
    return size_classes[class].size;
}

INLINE unsigned mark_make(unsigned class, unsigned colour)
{
    if (class <= TINY_CLASSES)
        return colour == 0 ? class : MARK_TINY + (colour - 1) * TINY_CLASSES + class - 1;
    return class <= CLASS_SMALL_LAST && colour % 2 != 0 ? MARK_ODD + class - TINY_CLASSES - 1
                                                        : class;
}

/* The class in a mark of a block that has one. */
INLINE unsigned mark_class(unsigned mark)
{
    if (mark >= MARK_ODD)
        return mark - MARK_ODD + TINY_CLASSES + 1;
    return mark < MARK_TINY ? mark : (mark - MARK_TINY) % TINY_CLASSES + 1;
}

INLINE size_t units_of(size_t bytes)
{
    return (bytes + UNIT - 1) >> UNIT_SHIFT;
}

/* Whether realloc leaves a block where it is. It must fit; and a smaller one must save at least
 * half to be worth the copy, which the smallest class can't. */
INLINE bool sizes_stay(size_t usable, size_t size)
{
    return size <= usable && (size > usable / 2 || usable == GRANULE);
}

#endif
