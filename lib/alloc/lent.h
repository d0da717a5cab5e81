/* SPDX-License-Identifier: MIT */
/*
 * Blocks in memory that the program lends, by functions of its own: jemalloc's extent hooks. It
 * lies anywhere, in pieces called extents. This file keeps the books and never calls the program:
 * the face that does (lib/faces/jemalloc/jemalloc_extents.c) takes an extent out of the books,
 * calls, and puts back what has come of it.
 *
 *      large   one block                        dirty     free, its memory as the blocks left it
 *      slab    blocks of one class, a bit each  retained  free, its memory returned by the program
 *      busy    out of the books
 *
 * All is behind one lock. A thread that vanishes or jumps away while it has the lock may leave the
 * books half-changed: from then on (`lent_give_up`) nothing is lent any more, and blocks that are
 * freed are lost.
 */
#ifndef ALLOC_LENT_H
#define ALLOC_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "lib/window/window.h"

enum { EXTENT_BUSY, EXTENT_LARGE, EXTENT_SLAB, EXTENT_DIRTY, EXTENT_RETAINED };

struct extent {
    struct extent *next, *prev; /* of a list of the lender's */
    struct lender *lender;
    char *start;
    size_t bytes;
    uint8_t state;
    bool committed, zero; /* it can be used as it is; it reads as zero */
    uint16_t class, blocks, free;
    uint64_t freed_ms;
    uint64_t bits[SPAN_BLOCKS_MAX / 64]; /* of a slab: free blocks */
};

enum { LENT_SIZES = 48 }; /* more doublings of a page than addresses have */

/* What one arena has of such memory. Its creator fills it with zeroes. */
struct lender {
    struct extent *free[LENT_SIZES]; /* dirty and retained ones, by the logarithm of their pages */
    struct extent *slabs[CLASS_COUNT];    /* with free blocks */
    struct extent *used;                  /* large ones, and slabs that are full */
    void (*freed)(struct lender *lender); /* called from outside when an extent became free */
    uint64_t allocs[CLASS_COUNT], frees[CLASS_COUNT], slab_count[CLASS_COUNT]; /* 0: large */
    uint64_t live_bytes, large_bytes; /* of all blocks, of large ones */
    uint64_t active_bytes, dirty_bytes, retained_bytes;
    struct extent *spare; /* in memory that the program gave for the books, by `next` */
    char *books;
    size_t books_bytes;
};

/* The counters of all lenders that ever were, summed up; the rest of it is not used. */
extern HIDDEN struct lender lent_all;
/* Whether any memory was ever lent. */
bool lent_any(void);

extern HIDDEN struct lock lent_lock;

/* A busy extent for memory that the program gave; NULL when memory is out. */
struct extent *extent_new(struct lender *lender, void *start, size_t bytes);
/* The same memory for the books themselves, as far as it goes. */
void lent_keep_books(struct lender *lender, void *start, size_t bytes);
/* Its memory is the program's again. */
void extent_drop(struct extent *extent);
/* A free extent of at least `bytes` with an aligned part of that length, busy now; or NULL. */
struct extent *extent_find(struct lender *lender, size_t bytes, size_t align);
/* A dirty one of at least `min` bytes that was freed before `before_ms`; or, if `retained`, any
 * free one. Busy now. */
struct extent *extent_next(struct lender *lender, uint64_t before_ms, size_t min, bool retained);
/* Two free extents of one kind, one behind the other, busy now; NULL: there are none. */
struct extent *extent_neighbours(struct lender *lender, struct extent **second);
/* The free neighbour behind `extent`, busy now; or NULL. */
struct extent *extent_after(struct extent *extent);
/* Cuts a busy extent: it keeps the first `bytes`, the rest is returned, busy. NULL when memory is
 * out. */
struct extent *extent_cut(struct extent *extent, size_t bytes);
/* Two busy ones, the second behind the first, become one. False when memory is out. */
bool extent_join(struct extent *extent, struct extent *behind);
/* A busy one is free. */
void extent_free(struct extent *extent, unsigned state);

/* A busy one becomes a block, which it returns. */
void *extent_begin_large(struct extent *extent);
/* The extent of a large block, busy while it gets another length; NULL: p is no such block. Then it
 * becomes a block again. */
struct extent *extent_of_large(const void *p);
void extent_resume_large(struct extent *extent);
/* A busy one is cut into blocks. */
void extent_begin_slab(struct extent *extent, unsigned class);
/* How many bytes an extent of such blocks takes. */
size_t extent_slab_bytes(unsigned class);
/* A block of a slab; NULL: there is none. */
void *lent_take(struct lender *lender, unsigned class);

/* The usable size of the live block at p; 0: there is none. */
size_t lent_size(const void *p);
/* The lender of p, or NULL. */
struct lender *lent_by(const void *p);
/* Frees the live block at p. False if another thread was first. *freed: the lender to tell that an
 * extent is free now. */
bool lent_give(void *p, struct lender **freed);
/* All blocks of the lender are freed. */
struct lent_sums {
    uint64_t blocks, bytes;
} lent_reset(struct lender *lender);

/* Bytes in memory of all extents that are not retained; `parts_max` as for `os_resident`. */
size_t lent_resident(size_t parts_max);

/* Copies of the extents with live blocks, to be unmapped (os_unmap); NULL: there are none, or
 * memory is out. Whether block `number` of such a copy lived; beyond the last one none does. */
struct extent *lent_copies(struct lender *lender, size_t *count);
bool extent_block(const struct extent *extent, unsigned number, void **block);

void lent_give_up(void);

#endif
