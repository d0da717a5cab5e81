/* SPDX-License-Identifier: MIT */
/* See lib/api/hardening.h. */
#include "lib/api/hardening.h"

#include "lib/api/abandoned.h"
#include "lib/api/cold_inside.h"
#include "lib/api/hot.h"
#include "lib/api/young.h"
#include "lib/heap/observer.h"

/* Inside, as after `cold_begin`: a signal handler must not find a bin that is half changed. */
INLINE bool inside_begin(const struct heap *heap)
{
    if (unlikely(heap == NULL || heap->delay == NULL || !heap->delay->ready || lock_held != 0 ||
                 heap->generation != heap_generation()))
        return false;
    abandoned_enter(lock_frame_word((uintptr_t)__builtin_frame_address(0)));
    return true;
}

INLINE void inside_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock_held = 0;
}

/* The size of the blocks of a mark. */
INLINE size_t usable_of(unsigned mark)
{
    return size_bounds[mark].least + size_bounds[mark].more;
}

void *hardening_pop(size_t size)
{
    struct heap *heap = heap_self;
    if (unlikely(size - 1 >= BLOCK_MAX - HARDEN_TAIL || !inside_begin(heap)))
        return NULL;
    unsigned mark = (unsigned)hot_mark(heap, size + HARDEN_TAIL);
    void *block = heap_pop_random(heap, mark);
    if (likely(block != NULL)) {
        tail_begin(block, usable_of(mark), size);
        *live_in(heap->live[mark], block) = live_sign_watched(block);
    }
    inside_end();
    return block;
}

bool hardening_push(void *p)
{
    struct heap *heap = heap_self;
    uintptr_t granule = ((uintptr_t)p - window.base) >> GRANULE_SHIFT;
    if (unlikely(granule >= window.granules || (uintptr_t)p % GRANULE != 0))
        return false;
    uint8_t *live = live_at(p);
    const struct span *span = span_of(p);
    if (unlikely(*live != live_sign_watched(p) || span->kinds != 0 || !inside_begin(heap)))
        return false; /* a large block with that sign has a record */
    unsigned mark = span->mark;
    bool ok = heap->slots[mark] != NULL;
    if (likely(ok)) {
        size_t usable = usable_of(mark);
        tail_end(p, usable);
        *live = 0;
        heap_push_delayed(heap, mark, usable <= SMALL_MAX, p);
    }
    inside_end();
    return ok;
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
        heap_push_delayed(heap, span->mark, usable <= SMALL_MAX, p);
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
