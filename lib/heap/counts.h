/* SPDX-License-Identifier: MIT */
/*
 * What heaps counted, in the recorder file (lib/watch/mirror.h): one row a heap, and one for all
 * that goes past the heaps. The hot path counts nothing (lib/alloc/account.h), so a row is brought
 * up to date by the slow calls of its thread: for the bin that each is about, and for all bins when
 * the clock of one runs out or one spills. While there is a file 1,024 mallocs are shared among the
 * bins by use, and the clock of a bin runs no longer than its part after its counts were copied. So
 * a row lacks at most that many mallocs, their frees, and the blocks that bins have taken back
 * since: no more than they hold. While every block is recorded the sites tell more, and rows are
 * looked at once in 1,024 calls.
 *
 * Rows hold sums since the file was made, or since the start of the process; they never fall when a
 * heap's own numbers begin anew.
 */
#ifndef HEAP_COUNTS_H
#define HEAP_COUNTS_H

#include "lib/alloc/alloc.h"
#include "lib/watch/watch.h"

void counts_bin_slow(struct heap *heap, unsigned mark);
void counts_large_slow(struct heap *heap, const struct heap_sums *more);
void counts_direct_slow(unsigned class, uint64_t allocs, uint64_t frees);

/* In the heap's own thread: the bin was used. */
INLINE void counts_bin(struct heap *heap, unsigned mark)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_bin_slow(heap, mark);
}

/* Large blocks, counted in the heap just now; without a heap, in no heap. */
INLINE void counts_large(struct heap *heap, const struct heap_sums *more)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_large_slow(heap, more);
}

/* Blocks past the bins. */
INLINE void counts_direct(unsigned class, uint64_t allocs, uint64_t frees)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_direct_slow(class, allocs, frees);
}

/* All bins: now and then while every block is recorded, when one spills, and before the heap's
 * thread ends. */
void counts_all_slow(struct heap *heap);
INLINE void counts_all(struct heap *heap)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_all_slow(heap);
}

/* Mallocs of a thread that its row may lack. */
enum { COUNTS_UNSEEN_MAX = 1024 };

/* All bins, when all clocks were set; then no more than that many mallocs pass until the next
 * visit, whichever bins they come from. */
void counts_visit_slow(struct heap *heap);
INLINE void counts_visit(struct heap *heap)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_visit_slow(heap);
}

/* The clock of the bin has run out and was set: all bins, or, with `alone`, if need be. A bin whose
 * clock ends in samples or is short for other reasons takes the others along now and then. */
void counts_ring_slow(struct heap *heap, unsigned mark, bool alone);
INLINE void counts_ring(struct heap *heap, unsigned mark, bool alone)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_ring_slow(heap, mark, alone);
}

/* A thread has got the heap: its row goes on from where it is. */
void counts_adopt(struct heap *heap);
/* Into a file that was made just now. */
void counts_copy(void);

#endif
