/* SPDX-License-Identifier: MIT */
/*
 * See lib/api/hardening.h.
 *
 * The short roads make no call and take no lock for small blocks, so that few registers are saved;
 * where they can't go on they jump to the long road, and nothing has happened. They need that the
 * bin has a block, or that one has waited and finds room in the bin; that the thread is not inside;
 * and that no hook, owner or record needs each call. One number says the last: `short_roads`
 * is the generation unless the heap has to be looked at.
 */
#include "lib/api/hardening.h"

#include "lib/api/abandoned.h"
#include "lib/api/cold_inside.h"
#include "lib/api/hot.h"
#include "lib/api/young.h"
#include "lib/heap/observer.h"

/* The calling thread's heap if its calls may take the short roads. */
INLINE struct heap *short_heap(void)
{
    struct heap *heap = heap_self;
    bool may = heap != NULL && lock_held == 0 && heap->short_roads == heap_generation();
    return likely(may) ? heap : NULL;
}

/* The size of the blocks of a mark. */
INLINE size_t usable_of(size_t mark)
{
    return size_bounds[mark].least + size_bounds[mark].more;
}

INLINE void *pop(struct heap *heap, size_t size, size_t mark)
{
    void *block = heap_pop_hardened(heap, mark);
    if (likely(block != NULL)) {
        tail_begin(block, usable_of(mark), size);
        *live_in(heap->live[mark], block) = live_sign_hardened(block);
    }
    return block;
}

static NOINLINE void *pop_middle(struct heap *heap, size_t size)
{
    return pop(heap, size, class_of(size + HARDEN_TAIL));
}

/* Both functions below are this, with and without somewhere to go on. */
INLINE void *pop_any(size_t size)
{
    struct heap *heap = short_heap();
    if (likely(heap != NULL && size - 1 < SMALL_MAX - HARDEN_TAIL))
        return pop(heap, size, hot_mark_small(heap, size + HARDEN_TAIL));
    return heap != NULL && size - 1 < BLOCK_MAX - HARDEN_TAIL ? pop_middle(heap, size) : NULL;
}

void *hardening_pop(size_t size)
{
    return pop_any(size);
}

void *hardening_malloc(size_t size, void *(*otherwise)(size_t size))
{
    void *block = pop_any(size);
    return likely(block != NULL) ? block : otherwise(size);
}

/* A live block of `usable` bytes waits; false: nothing that has waited can go to the bin. */
INLINE bool push(struct heap *heap, void *p, size_t mark, size_t usable, uint8_t *live)
{
    struct delay_queue *queue = &heap->delay->queues[mark];
    void **place = delay_place(queue);
    if (unlikely(*place == NULL || (uint16_t)heap->top[mark] == heap->limit[mark]))
        return false;
    tail_end(p, usable);
    *live = 0;
    heap_push_delayed(heap, mark, queue, place, p);
    return true;
}

static NOINLINE bool push_middle(struct heap *heap, void *p, size_t mark, uint8_t *live)
{
    return push(heap, p, mark, usable_of(mark), live);
}

INLINE bool push_any(void *p)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    uintptr_t granule = offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);
    if (unlikely(granule >= window.granules))
        return false;
    size_t mark = window.kinds_at_0[(uintptr_t)p >> UNIT_SHIFT];
    uint8_t *live = live_in(window.live[mark], p);
    struct heap *heap = short_heap();
    if (unlikely(heap == NULL || *live != live_sign_hardened(p)))
        return false;
    size_t usable = usable_of(mark);
    if (unlikely(usable > SMALL_MAX))
        return push_middle(heap, p, mark, live);
    return push(heap, p, mark, usable, live);
}

bool hardening_push(void *p)
{
    return push_any(p);
}

void hardening_release(void *p, void (*otherwise)(void *p))
{
    if (unlikely(!push_any(p)))
        otherwise(p);
}

/* It counts as a block of the smallest class. */
static void count_empty(bool begins)
{
    size_t size = class_size(1);
    young_sum((struct heap_sums){begins, !begins, begins ? size : 0, begins ? 0 : size});
    counts_direct(1, begins, !begins);
    account_elsewhere(1, size, begins);
}

void *hardening_take_empty(void)
{
    void *block = empty_take();
    if (block != NULL)
        count_empty(true);
    return block;
}

bool hardening_free_empty(void *p)
{
    if (!empty_owns(p))
        return false;
    if (!cold_begin(NULL))
        return true; /* in a signal handler that interrupted the allocator: lost */
    if (!empty_give(p))
        fatal_freed_twice(p, 0);
    count_empty(false);
    cold_end();
    return true;
}

/* Two threads that free it at once: one of them may see it live after the other has. Then both give
 * it back, and the second one finds it there. */
bool hardening_free(void *p, struct heap *heap)
{
    struct span *span = span_of(p);
    if (span->state != SPAN_BLOCKS || span->kinds != 0)
        return false;
    size_t usable = class_size(mark_class(span->mark));
    tail_end(p, usable);
    store_relaxed(live_at(p), 0);
    if (likely(heap != NULL && (heap->slots[span->mark] != NULL || heap_spill(heap, span->mark)))) {
        heap_push_waiting(heap, span->mark, p);
        counts_bin(heap, span->mark);
        return true;
    }
    young_sum((struct heap_sums){.frees = 1, .free_bytes = usable});
    counts_direct(mark_class(span->mark), 0, 1);
    central_give(&p, 1);
    return true;
}

bool hardening_resize(void *p, size_t size)
{
    struct span *span = span_of(p);
    size_t usable = class_size(mark_class(span->mark));
    if (!tail_has(span) || size + harden_tail > usable || !sizes_stay(usable, size + harden_tail))
        return false;
    tail_resize(p, usable, size);
    return true;
}
