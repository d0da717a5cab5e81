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

INLINE void *pop_any(size_t size);
INLINE struct heap *short_heap(void);
INLINE void *pop(struct heap *heap, size_t size, size_t mark);
INLINE void change_begin(void);
INLINE void change_end(void);
static __attribute__((noinline)) void *pop_middle(struct heap *heap, size_t size);
INLINE uintptr_t window_granule(const void *p);

void *hardening_pop(size_t size)
{
    return pop_any(size);
}

/* `hardening_pop` and `hardening_malloc`, which has somewhere to go on. */
INLINE void *pop_any(size_t size)
{
    struct heap *heap = short_heap();
    if (likely(heap != NULL && size - 1 < SMALL_MAX - HARDEN_TAIL))
        return pop(heap, size, hot_mark_small(heap, size + HARDEN_TAIL));
    return heap != NULL && size - 1 < BLOCK_MAX - HARDEN_TAIL ? pop_middle(heap, size) : NULL;
}

/* The calling thread's heap if its calls may take the short roads. */
INLINE struct heap *short_heap(void)
{
    struct heap *heap = heap_self;
    bool may = heap != NULL && lock_held == 0 && heap->short_roads == heap_generation();
    return likely(may) ? heap : NULL;
}

INLINE void *pop(struct heap *heap, size_t size, size_t mark)
{
    change_begin();
    uint64_t top = heap->top[mark];
    if (unlikely(top == 0 || arch_count_down(&heap->clock[mark], 1))) {
        change_end();
        return NULL;
    }
    bin_pop(heap, mark, slot_place(top));
    change_end();
    void *block = slot_block(top);
    *live_in(heap->live[mark], block) = live_sign_hardened(block);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* its tail is open */
    tail_begin(block, size_usable[mark], size);
    return block;
}

/* Around a change of bins and of what waits: a signal handler's calls find the thread inside, and
 * take the long road. A block that a handler freed would wait, and be handed out here. */
INLINE void change_begin(void)
{
    abandoned_enter(lock_frame_word(ARCH_CALLER_SP()));
}

INLINE void change_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock_held = 0;
}

static __attribute__((noinline)) void *pop_middle(struct heap *heap, size_t size)
{
    return pop(heap, size, class_of(size + HARDEN_TAIL));
}

void *hardening_malloc(size_t size, void *(*otherwise)(size_t size))
{
    void *block = pop_any(size);
    return likely(block != NULL) ? block : otherwise(size);
}

/* Between `cold_begin` and `cold_end`: a block that has ended waits. */
static void wait_inside(struct heap *heap, unsigned mark, void *p)
{
    if (likely(heap != NULL && (heap->slots[mark] != NULL || heap_spill(heap, mark)))) {
        heap_push_waiting(heap, mark, p);
        counts_bin(heap, mark);
        return;
    }
    young_sum((struct heap_sums){.frees = 1, .free_bytes = size_usable[mark]});
    counts_direct(mark_class(mark), 0, 1);
    central_give(&p, 1);
}

/* The same from outside, where nothing has waited so far or the bin is full. Not NOINLINE: that
 * would make the road to it a cold one. */
static __attribute__((noinline)) void wait_slow(size_t mark, void *p)
{
    struct caller here = CALLER_HERE;
    if (unlikely(!cold_begin(&here)))
        return; /* lost */
    struct heap *heap = cold_heap(true);
    cold_look_at_peak();
    wait_inside(heap, (unsigned)mark, p);
    cold_end();
}

/* A block that has ended waits. That it does so last lets most of what is known about it be
 * forgotten before: few registers are saved. */
INLINE void push(struct heap *heap, void *p, size_t mark)
{
    struct delay_queue *queue = &heap->delay->queues[mark];
    change_begin();
    void **place = delay_place(queue), *waited = *place;
    if (unlikely(waited == NULL || (uint16_t)heap->top[mark] == heap->limit[mark])) {
        change_end();
        wait_slow(mark, p);
        return;
    }
    heap_push_delayed(heap, mark, queue, place, p);
    change_end();
}

static __attribute__((noinline)) void push_middle(struct heap *heap, void *p, size_t mark,
                                                  uint8_t *live)
{
    tail_wipe_long(p, size_usable[mark]);
    *live = 0;
    push(heap, p, mark);
}

/* `sized`: unless it was asked for another size. */
INLINE bool push_any(void *p, bool sized, size_t size)
{
    if (unlikely(window_granule(p) >= window.granules))
        return false;
    size_t mark = window.kinds_at_0[(uintptr_t)p >> UNIT_SHIFT];
    struct heap *heap = short_heap();
    uint8_t *live = live_in(window.live[mark], p);
    if (unlikely(heap == NULL || *live != live_sign_hardened(p)))
        return false;
    size_t usable = size_usable[mark], asked = tail_size(p, usable, "free");
    if (sized && unlikely(asked != size))
        return false;
    if (unlikely(usable > SMALL_MAX)) {
        push_middle(heap, p, mark, live);
        return true;
    }
    tail_wipe(p, usable);
    *live = 0;
    push(heap, p, mark);
    return true;
}

/* Of a pointer that is misaligned, or outside, it is beyond all. */
INLINE uintptr_t window_granule(const void *p)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    return offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);
}

bool hardening_push(void *p)
{
    return push_any(p, false, 0);
}

bool hardening_push_sized(void *p, size_t size)
{
    return push_any(p, true, size);
}

void hardening_release(void *p, void (*otherwise)(void *p))
{
    if (unlikely(!push_any(p, false, 0)))
        otherwise(p);
}

void *hardening_realloc(void *p, size_t size)
{
    struct heap *heap = short_heap();
    if (unlikely(heap == NULL || window_granule(p) >= window.granules ||
                 size - 1 >= BLOCK_MAX - HARDEN_TAIL))
        return NULL;
    size_t mark = window.kinds_at_0[(uintptr_t)p >> UNIT_SHIFT];
    uint8_t *live = live_in(window.live[mark], p);
    if (unlikely(*live != live_sign_hardened(p)))
        return NULL;
    size_t usable = size_usable[mark];
    if (size + HARDEN_TAIL <= usable && sizes_stay(usable, size + HARDEN_TAIL)) {
        tail_resize(p, usable, size);
        heap_count_kept(heap, (unsigned)mark);
        counts_bin(heap, (unsigned)mark);
        return p;
    }
    size_t before = tail_size(p, usable, "realloc");
    void *block = pop(heap, size, hot_mark(heap, size + HARDEN_TAIL));
    if (unlikely(block == NULL))
        return NULL;
    memcpy(block, p, before < size ? before : size);
    push_middle(heap, p, mark, live);
    return block;
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
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
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
    tail_end(p, size_usable[span->mark]);
    store_relaxed(live_at(p), 0);
    wait_inside(heap, span->mark, p);
    return true;
}

bool hardening_resize(void *p, size_t before, size_t size)
{
    struct span *span = span_of(p);
    if (span->state == SPAN_LARGE) {
        bool stays = units_of(size) == span->length || sizes_stay(before, size);
        if (!stays || large_size(span) - size > UINT16_MAX)
            return false;
        tail_large_begin(span, size);
        return true;
    }
    if (!tail_has(span))
        return sizes_stay(before, size);
    size_t usable = class_size(mark_class(span->mark));
    if (size + harden_tail > usable || !sizes_stay(usable, size + harden_tail))
        return false;
    tail_resize(p, usable, size);
    return true;
}
