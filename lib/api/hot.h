/* SPDX-License-Identifier: MIT */
/*
 * The whole hot path: what a malloc and a free of a block up to 32 KiB execute when the thread's
 * bin has what they need. No lock, no locked instruction, no write to the block.
 *
 * malloc pops a block from its class's bin. It leaves for cold.c when the bin is empty or when the
 * clock runs out: the next block is a sample, or time has come to look around.
 * free looks up the one byte that says what lives at p (sizes.h: marks), and pushes the block to
 * the bin of that mark. Everything else leaves through a test that is
 * made anyway: foreign, misaligned and NULL pointers are outside of the window (rotating the low
 * four bits to the top makes a misaligned pointer a huge one); free, interior, large and
 * watched blocks have marks whose bins are always full.
 *
 * Plain loads and stores: only this thread writes to its bins, a mark is one byte and changes only
 * by the hand of whoever owns the block, and who reads either from outside can do with the value of
 * a moment ago.
 *
 * Budget: a malloc + free pair of one small size takes at most 45 instructions on x86-64, calls
 * and PLT included, with all these checks and sampling on (tests/measure/pair.sh counts them).
 */
#ifndef API_HOT_H
#define API_HOT_H

#include "base/arch.h"
#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"

/* Pops a block of the mark and makes it live. NULL: go cold. */
INLINE void *hot_pop(struct heap *heap, size_t mark)
{
    void **top = heap->top[mark], *block = *top;
    if (unlikely(block == NULL))
        return NULL;
    if (unlikely(arch_count_down(&heap->clock[mark], 1)))
        return NULL;
    heap->top[mark] = top - 1;
    *mark_at(block) = (uint8_t)mark; /* not read: its cache line may be far away */
    return block;
}

/* The mark for size <= SMALL_MAX. For 0 it is that of an empty bin. */
INLINE size_t hot_mark_small(const struct heap *heap, size_t size)
{
    return heap->marks[(size + GRANULE - 1) >> GRANULE_SHIFT];
}

/* For size <= BLOCK_MAX. */
INLINE size_t hot_mark(const struct heap *heap, size_t size)
{
    return likely(size <= SMALL_MAX) ? hot_mark_small(heap, size) : class_of(size);
}

/* Pushes the block to its bin. False: go cold. */
INLINE bool hot_push(struct heap *heap, void *p)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    uintptr_t granule = offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);
    if (unlikely(granule >= window.granules))
        return false;
    unsigned mark = window.marks[granule];
    void **top = heap->top[mark];
    if (unlikely((uint32_t)(uintptr_t)top == heap->limit[mark]))
        return false;
    window.marks[granule] = MARK_FREE;
    top[1] = p;
    heap->top[mark] = top + 1;
    return true;
}

/* The size of a live block that has a class; 0 for anything else. */
INLINE size_t hot_size(const void *p)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    uintptr_t granule = offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);
    if (unlikely(granule >= window.granules))
        return 0;
    unsigned mark = window.marks[granule];
    return mark == MARK_LARGE || mark == MARK_WATCHED ? 0 : class_size(mark_class(mark));
}

#endif
