/* SPDX-License-Identifier: MIT */
/*
 * New blocks on the slow path: from a bin that ran empty or whose clock ran out, from the centre
 * for samples and for threads without a heap, from the pages for large ones, and from outside of
 * the window or from emergency memory when there is no other way.
 */
#include "lib/api/cold_inside.h"
#include "lib/api/debugging.h"
#include "lib/api/elsewhere.h"
#include "lib/api/emergency.h"
#include "lib/api/filling.h"
#include "lib/api/guarding.h"
#include "lib/api/hardening.h"
#include "lib/api/hooks.h"
#include "lib/api/hot.h"
#include "lib/api/young.h"
#include "lib/dump/dump.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"

void cold_live(void *block, unsigned class, size_t size)
{
    if (unlikely(harden_on)) {
        tail_begin(block, class_size(class), size);
        store_relaxed(live_at(block), live_sign_hardened(block));
    } else {
        store_relaxed(live_at(block), live_sign(block));
    }
}

void cold_record(void *block, unsigned class, size_t size, const struct origin *origin,
                 unsigned rate)
{
    struct record *place = central_record(span_of(block), block);
    if (unlikely(harden_on) && tail_has(span_of(block)))
        tail_begin(block, class_size(class), size);
    track_begin(place, origin->caller, class, class_size(class), size, origin->born, rate);
    store_relaxed(live_at(block), live_sign_watched(block));
}

/* One block past the bins: a watched one with a record, or an ordinary one if `origin` is NULL. */
static void *take_direct(struct heap *heap, unsigned class, size_t size,
                         const struct origin *origin)
{
    unsigned mark = mark_make(class, heap == NULL ? young.colour : heap->colour);
    void *block = central_take_one(cold_pool(heap), origin ? CENTRAL_WATCHED + class : mark);
    if (block == NULL)
        return NULL;
    young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
    counts_direct(class, 1, 0);
    if (origin != NULL)
        cold_record(block, class, size, origin, cold_bin_rate(heap));
    else
        cold_live(block, class, size);
    return block;
}

/* The clock of the bin ran out. True if that makes the next block a sample. */
static bool clock_ring(struct heap *heap, unsigned mark)
{
    size_t size = class_size(mark_class(mark));
    bool hit = false;
    if (heap_clock_over(heap, mark)) {
        bool armed = heap_stock(heap, mark)->armed;
        int64_t rate = pace_rate(&heap->pace);
        uint64_t wait = sampler_blocks(&heap->random, size, rate);
        hit = armed || wait == 0; /* a new bin's clock is at its end without a wait */
        if (hit && !armed)
            wait = sampler_blocks(&heap->random, size, rate);
        heap_set_clock(heap, mark, wait);
        counts_ring(heap, mark, true);
    } else {
        if (unlikely(pace_visited(&heap->pace))) {
            cold_set_clocks(heap);
            counts_visit(heap);
        }
        counts_ring(heap, mark, false);
    }
    cold_look_at_peak();
    return hit;
}

/* A watched block. Where there is no memory for one, the sample is lost: an ordinary block from the
 * bin or the centre. */
static void *take_sample(struct heap *heap, unsigned mark, size_t size, const struct origin *origin)
{
    unsigned class = mark_class(mark);
    void *block =
        guard_sampled ? guarding_take_sample(NULL, cold_bin_rate(heap), class, size, origin) : NULL;
    if (unlikely(block != NULL))
        return block;
    block = spare_take(heap, class);
    if (block != NULL)
        cold_record(block, class, size, origin, cold_bin_rate(heap));
    else
        block = take_direct(heap, class, size, origin);
    if (likely(block != NULL)) {
        if (bin_next(heap, mark) == NULL) /* as the next malloc would */
            heap_refill(heap, mark);
        places_note(block, bin_next(heap, mark));
        return block;
    }
    track_lost();
    if ((block = heap_pop(heap, mark)) != NULL)
        cold_live(block, class, size);
    return block != NULL ? block : take_direct(heap, class, size, NULL);
}

/* Past the bin, which may hold none; its clock has counted the block. */
static void *take_uncached(struct heap *heap, unsigned mark, size_t size)
{
    void *block = heap_take_one(heap, mark);
    if (unlikely(block == NULL)) {
        store_relaxed(&heap->clock[mark], heap->clock[mark] + 1);
        return take_direct(heap, mark_class(mark), size, NULL);
    }
    cold_live(block, mark_class(mark), size);
    return block;
}

/* From a bin of the heap; `size` is what the program asked for. */
static void *take_from_bin(struct heap *heap, unsigned mark, size_t size,
                           const struct origin *origin)
{
    if (heap->watched) {
        void *block = heap_pop_watched(heap, mark);
        if (unlikely(block == NULL)) { /* there may be memory for the block, not for its record */
            track_lost();
            return take_direct(heap, mark_class(mark), size, NULL);
        }
        cold_record(block, mark_class(mark), size, origin, SAMPLER_EXACT_NUMBER);
        return block;
    }
    /* Ends: a clock that ran out makes a sample, or is set to one block at least; a refill fails or
     * fills the bin. Only a signal handler can empty it again. */
    for (;;) {
        void *block = harden_on ? heap_pop_hardened(heap, mark) : hot_pop(heap, mark);
        if (block != NULL && harden_on)
            cold_live(block, mark_class(mark), size);
        if (block != NULL)
            return block;
        if (heap->clock[mark] < 0) {
            if (clock_ring(heap, mark)) {
                block = take_sample(heap, mark, size, origin);
                if (unlikely(pace_sampled(&heap->pace))) {
                    cold_set_clocks(heap);
                    counts_visit(heap);
                }
                return block;
            }
        } else if (!heap_refill(heap, mark)) {
            if (!heap_uncached(heap, mark))
                return take_direct(heap, mark_class(mark), size, NULL);
            if (!arch_count_down(&heap->clock[mark], 1))
                return take_uncached(heap, mark, size);
        } else {
            cold_look_at_peak();
        }
    }
}

/* From the bin of the class that `room` bytes take. */
static void *take_block(struct heap *heap, size_t room, size_t size, const struct origin *origin)
{
    unsigned mark = (unsigned)hot_mark(heap, room);
    void *block = take_from_bin(heap, mark, size, origin);
    if (!heap->watched)
        counts_bin(heap, mark);
    return block;
}

static void *take_inside(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    struct heap *heap = cold_heap(false);
    if (unlikely(guard_debug))
        return debugging_take(size, align, origin, zero);
    void *block = guarding_take_due(NULL, size, align, origin);
    if (unlikely(block != NULL)) {
        *zero = true;
        return block;
    }
    if (unlikely(harden_on)) {
        if (size == 0 && align <= GRANULE && (block = hardening_take_empty()) != NULL)
            return block;
        *zero = true;
    }
    size_t room = sizes_room(size + harden_tail, align);
    if (room > BLOCK_MAX)
        return cold_large_take(heap, size == 0 ? 1 : size, align, origin, zero);
    if (heap != NULL)
        return take_block(heap, room, size, origin);
    unsigned class = class_of(room);
    if (young_ring(class_size(class))) {
        if (guard_sampled && cold_rate(NULL) != SAMPLER_EXACT_NUMBER)
            block = guarding_take_sample(NULL, cold_bin_rate(NULL), class, size, origin);
        if (block == NULL && (block = take_direct(NULL, class, size, origin)) == NULL)
            track_lost();
    }
    return block != NULL ? block : take_direct(NULL, class, size, NULL);
}

void cold_unrecorded(void *block, unsigned class, size_t size)
{
    struct span *span = span_of(block);
    *central_record(span, block) = (struct record){.slack = (uint16_t)(class_size(class) - size)};
    if (unlikely(harden_on) && tail_has(span))
        tail_begin(block, class_size(class), size);
    store_relaxed(live_at(block), live_sign_watched(block));
}

/* There is no memory for the bin of the thread, but other lists may have a free block. What the
 * thread keeps for samples and what waits with `harden` goes there first: malloc takes neither. */
static void *take_left(size_t size, size_t align)
{
    struct heap *heap = cold_heap(false);
    size_t room = sizes_room(size + harden_tail, align);
    if (guard_debug || room > BLOCK_MAX)
        return NULL;
    if (heap != NULL)
        heap_flush(heap);
    unsigned class = class_of(room);
    void *block = central_take_left(class);
    if (block == NULL)
        return NULL;
    young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
    counts_direct(class, 1, 0);
    if (span_of(block)->kinds & KIND_RECORDED)
        cold_unrecorded(block, class, size);
    else
        cold_live(block, class, size);
    return block;
}

/* What is kept of freed blocks goes. The debug allocator's first: they become such cells. */
static bool kept_yield(size_t size, const struct caller *caller)
{
    bool debugged = debugging_yield(caller), cells = cells_yield(size), large = large_yield();
    return mirror_yield() || debugged || cells || large;
}

/* Whether the kernel's setting for overcommit allows the block; an alignment counts as the size
 * does. Any machine has a few megabytes. */
INLINE bool is_granted(size_t size, size_t align)
{
    /* The kernel is not asked: a system call, also where none is allowed. */
    enum { ALWAYS = 32 << 20 };
    size_t more;
    if (likely((size | align) < ALWAYS))
        return true;
    return !__builtin_add_overflow(size, align, &more) && arena_grants(more);
}

/* From an owner, or from the heap if that is NULL. Inlined: every sample comes this way. */
INLINE void *take_from(struct owner *owner, size_t size, size_t align, const struct origin *origin,
                       bool *zero)
{
    void *block;
    for (;;) {
        if (unlikely(!is_granted(size, align)) && !cold_has_source()) {
            block = NULL;
            break;
        }
        if (unlikely(!cold_begin(origin->caller)))
            return lock_held != 0 ? emergency_take(size, align) : NULL;
        block = unlikely(owner != NULL) ? cold_owned_inside(owner, size, align, origin, zero)
                                        : take_inside(size, align, origin, zero);
        if (unlikely(block == NULL) && kept_yield(size, origin->caller))
            block = owner != NULL ? cold_owned_inside(owner, size, align, origin, zero)
                                  : take_inside(size, align, origin, zero);
        if (unlikely(block == NULL) && owner == NULL) {
            *zero = false;
            block = take_left(size, align);
        }
        if (unlikely(block == NULL) && !cold_has_source())
            block = elsewhere_take(size, align, zero);
        growth_note(origin->caller);
        cold_end();
        if (likely(block != NULL) || !cold_has_source())
            break;
        if (!cold_source_grow(size, align))
            return cold_lent_take(cold_source.lender, size, align, zero);
    }
    if (unlikely(block == NULL)) {
        triggers_failure();
    } else if (unlikely(load_relaxed(&hooks_any))) {
        filling_begin(block, origin->clear, zero);
        hooks_call_new(block, size);
    }
    if (unlikely(size >= load_relaxed(&hooks_large.bytes)))
        hooks_call_large(block, size, origin->caller);
    if (unlikely(load_relaxed(&hooks_picked.begin) != NULL) && block != NULL)
        hooks_call_begin(block, size, origin->caller);
    return block;
}

void *cold_take(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    *zero = false;
    struct owner *owner = heap_self == NULL ? NULL : heap_self->default_owner;
    if (unlikely(owner != NULL && owner->lend != NULL)) {
        if (young.lending)
            owner = NULL; /* the program's functions need memory to give some */
        else if (lock_held == 0)
            return cold_lent_take(owner, size, align, zero);
    }
    return take_from(owner, size, align, origin, zero);
}

void *cold_owned_take(struct owner *owner, size_t size, size_t align, const struct caller *caller,
                      bool *zero)
{
    *zero = false;
    if (owner->lend != NULL && !young.lending && lock_held == 0)
        return cold_lent_take(owner, size, align, zero);
    return take_from(owner, size, align, &(struct origin){caller, 0, false}, zero);
}

void *cold_malloc(size_t size, const struct caller *caller)
{
    bool zero;
    return cold_take(size, COLD_ANY, &(struct origin){caller, 0, false}, &zero);
}

void *cold_malloc_moved(size_t size, const struct caller *caller)
{
    bool zero;
    return cold_take(size, COLD_ANY, &(struct origin){caller, TRACK_MOVED, false}, &zero);
}

void *cold_calloc(size_t size, const struct caller *caller)
{
    bool zero;
    void *block = cold_take(size, COLD_ANY, &(struct origin){caller, 0, true}, &zero);
    if (block != NULL && !zero)
        large_clear(block, size);
    return block;
}

void *cold_aligned(size_t align, size_t size, const struct caller *caller)
{
    bool zero;
    return cold_take(size, align, &(struct origin){caller, 0, false}, &zero);
}
