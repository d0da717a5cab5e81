/* SPDX-License-Identifier: MIT */
/*
 * What heaps counted, in the recorder file (lib/watch/mirror.h): one row a heap, and one for all
 * that goes past the heaps. The hot path counts nothing (lib/alloc/account.h), so a row is brought
 * up to date by the slow calls of its thread: for the bin that each is about, and for all bins when
 * the clock of one runs out or one spills. While there is a file the clocks of all bins together
 * run for 1,024 mallocs. So a row lacks at most that many mallocs, their frees, and the blocks that
 * bins have taken back since: no more than they hold. While every block is recorded the sites tell
 * more, and rows are looked at once in 1,024 calls.
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

/* All bins, where the clock of one has run out or all were set; then no more than that many mallocs
 * pass until the next visit, whichever bins they come from. */
void counts_visit_slow(struct heap *heap);
INLINE void counts_visit(struct heap *heap)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_visit_slow(heap);
}

/* The clock of the bin ended in a sample and was set: the next visit is no later for that. */
void counts_sample_slow(struct heap *heap, unsigned mark);
INLINE void counts_sample(struct heap *heap, unsigned mark)
{
    if (unlikely(load_relaxed(&mirror_base) != NULL))
        counts_sample_slow(heap, mark);
}

/* A thread has got the heap: its row goes on from where it is. */
void counts_adopt(struct heap *heap);
/* Into a file that was made just now. */
void counts_copy(void);

#endif
