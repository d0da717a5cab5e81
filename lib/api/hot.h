/* SPDX-License-Identifier: MIT */
/*
 * The whole hot path: what a malloc and a free of a block up to 32 KiB execute when the thread's
 * bin has what they need. No lock, no locked instruction, no write to the block.
 *
 * malloc pops a block from its class's bin. It goes cold (cold_take.c) when the bin is empty or
 * when the clock runs out: the next block is a sample, or time has come to look around.
 * free looks up the mark of the unit's blocks and the byte that says whether one lives at p
 * (arena.h), and pushes the block to the bin of that mark. Everything else leaves through a test
 * that is made anyway: foreign, misaligned and NULL pointers are outside of the window (rotating
 * the low four bits to the top makes a misaligned pointer a huge one); free, interior and watched
 * blocks have another byte; large ones have a mark whose bin is always full. The mark is found
 * fast, in a table that is small, and from p alone: from it come the addresses of all that free
 * writes, and the loads of the next call wait for these. The byte may come later, nothing waits
 * for it.
 *
 * Plain loads and stores: only this thread writes to its bins, and only the owner of a block writes
 * its byte; other threads may read a value that is a moment old.
 *
 * Budget of a malloc + free pair of one small size, calls and PLT included, with all these checks
 * and sampling on (tests/measure/pair.sh counts them):
 *   at most 57 instructions on x86-64
 *   at most 83 instructions on aarch64
 */
#ifndef API_HOT_H
#define API_HOT_H

#include "base/arch.h"
#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"

/* Pops a block of the mark and makes it live. NULL: go cold. */
INLINE void *hot_pop(struct heap *heap, size_t mark)
{
    uint64_t top = heap->top[mark];
    size_t place = slot_place(top);
    SETTLE(place);
    void *block = slot_block(top);
    if (unlikely(block == NULL))
        return NULL;
    if (unlikely(arch_count_down(&heap->clock[mark], 1)))
        return NULL;
    ARCH_INDEXED(mark);
    uint64_t below = heap->slots[mark][place - 1];
    ARCH_INDEXED(mark);
    uintptr_t table = heap->live[mark];
    ARCH_INDEXED(mark);
    heap->top[mark] = below;
    *live_in(table, block) = live_sign(block); /* not read: it may be far away */
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

/* Pushes the block to its bin, if its class is that of `size` or `size` is not known. False: go
 * cold. */
INLINE bool hot_push_block(struct heap *heap, void *p, bool sized, size_t size)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    uintptr_t granule = offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);
    if (unlikely(granule >= window.granules))
        return false;
    size_t mark = window.kinds_at_0[(uintptr_t)p >> UNIT_SHIFT];
    if (sized && unlikely(size - size_bounds[mark].min > size_bounds[mark].more))
        return false;
    uint64_t top = heap->top[mark];
    if (unlikely((uint16_t)top == heap->limit[mark]))
        return false;
    SETTLE(heap);
    uint8_t *live = live_in(heap->live[mark], p);
    if (unlikely(*live != live_sign(p)))
        return false;
    *live = 0;
    SETTLE(heap);
    bin_push(heap, mark, slot_place(top), p);
    return true;
}

INLINE bool hot_push(struct heap *heap, void *p)
{
    return hot_push_block(heap, p, false, 0);
}

/* For a delete that tells the size: three instructions more. */
INLINE bool hot_push_sized(struct heap *heap, void *p, size_t size)
{
    return hot_push_block(heap, p, true, size);
}

/* The size of a live block that has a class; 0 for anything else. */
INLINE size_t hot_size(const void *p)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    uintptr_t granule = offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);
    if (unlikely(granule >= window.granules))
        return 0;
    unsigned mark = mark_of(p);
    return mark == MARK_LARGE || mark == MARK_WATCHED ? 0 : class_size(mark_class(mark));
}

#endif
