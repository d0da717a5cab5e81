/* SPDX-License-Identifier: MIT */
/*
 * The slow way of blocks with an owner: fronts that are empty or full,
 * samples, large blocks, threads that can have no heap any more, and the end of an owner with all
 * its blocks.
 */
#include "lib/api/cold_inside.h"
#include "lib/api/debugging.h"
#include "lib/api/elsewhere.h"
#include "lib/api/emergency.h"
#include "lib/api/filling.h"
#include "lib/api/guarding.h"
#include "lib/api/hooks.h"
#include "lib/api/young.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"

static void *take_guarded(struct owner *owner, size_t size, size_t align,
                          const struct origin *origin, bool *zero);
static bool rings(struct heap *heap, struct front *front, size_t usable);
static void *take_sample(struct owner *owner, struct heap *heap, unsigned class, size_t size,
                         const struct origin *origin);
static void *take_plain(struct owner *owner, struct heap *heap, struct front *front,
                        unsigned class);
static void tell_counts(struct front *front, unsigned class);
static void end_all(struct owner *owner, struct heap *heap, const struct caller *caller);
static void end_span(struct span *span, struct heap *heap, const struct caller *caller);

void *cold_owned_inside(struct owner *owner, size_t size, size_t align, const struct origin *origin,
                        bool *zero)
{
    struct heap *heap = cold_heap_made();
    size_t room = sizes_room(size, align);
    void *block = take_guarded(owner, size, align, origin, zero);
    if (unlikely(block != NULL))
        return block;
    if (room > BLOCK_MAX) {
        block = cold_large_take(heap, size == 0 ? 1 : size, align, origin, zero);
        if (block != NULL)
            owner_add_large(owner, span_of(block));
        return block;
    }
    unsigned class = class_of(room);
    struct front *front = heap == NULL ? NULL : front_get(heap, owner);
    if (rings(heap, front, class_size(class))) {
        block = take_sample(owner, heap, class, size, origin);
        if (block != NULL)
            return block;
        track_lost();
    }
    block = take_plain(owner, heap, front, class);
    if (likely(block != NULL)) {
        store_relaxed(live_at(block), live_sign_watched(block));
    } else if (owner_take(owner, cold_pool(heap), class, OWNED_RECORDED, &block, 1) == 1) {
        owner_count(owner, class, OWNED_RECORDED, 1);
        young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
        counts_direct(class, 1, 0);
        cold_unrecorded(block, class, size);
    }
    return block;
}

/* NULL: this block is not to be guarded, or can't be. */
static void *take_guarded(struct owner *owner, size_t size, size_t align,
                          const struct origin *origin, bool *zero)
{
    if (guard_debug && (guard_all || guard_fences))
        return debugging_take_fenced(owner, size, align, origin, zero);
    void *block = guarding_take_due(owner, size, align, origin);
    *zero = block != NULL;
    return block;
}

static void *take_sample(struct owner *owner, struct heap *heap, unsigned class, size_t size,
                         const struct origin *origin)
{
    unsigned rate = cold_rate(heap);
    void *block = guard_sampled && rate != SAMPLER_EXACT_NUMBER
                      ? guarding_take_sample(owner, rate, class, size, origin)
                      : NULL;
    if (block != NULL || owner_take(owner, cold_pool(heap), class, OWNED_RECORDED, &block, 1) != 1)
        return block;
    owner_count(owner, class, OWNED_RECORDED, 1);
    young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
    counts_direct(class, 1, 0);
    cold_record(block, class, size, origin, rate);
    return block;
}

/* True if the block includes a sample. */
static bool rings(struct heap *heap, struct front *front, size_t usable)
{
    if (front == NULL)
        return young_ring(usable);
    uint32_t generation = heap_generation();
    if (front->generation != generation) {
        front->generation = generation;
        front->clock = sampler_bytes(&heap->random);
    }
    if (!__builtin_sub_overflow(front->clock, (int64_t)usable, &front->clock) && front->clock >= 0)
        return false;
    front->clock = sampler_bytes(&heap->random);
    return sampler_rate() != SAMPLER_OFF;
}

static void *take_plain(struct owner *owner, struct heap *heap, struct front *front, unsigned class)
{
    void *block = NULL;
    unsigned pool = cold_pool(heap);
    if (front != NULL &&
        ((block = front_pop(front, class)) != NULL ||
         (front_refill(front, pool, class) && (block = front_pop(front, class)) != NULL))) {
        tell_counts(front, class);
        cold_look_at_peak();
        return block;
    }
    if (owner_take(owner, pool, class, OWNED_PLAIN, &block, 1) == 0)
        return NULL;
    owner_count(owner, class, OWNED_PLAIN, 1);
    young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
    counts_direct(class, 1, 0);
    return block;
}

/* Brings the recorder file up to date. */
static void tell_counts(struct front *front, unsigned class)
{
    struct front_bin *bin = front->bins[class];
    if (bin == NULL)
        return;
    counts_direct(class, bin->mallocs - bin->told_mallocs, bin->frees - bin->told_frees);
    bin->told_mallocs = bin->mallocs;
    bin->told_frees = bin->frees;
}

/* The span may only be looked at while the block lives. */
bool cold_owned_push(void *p)
{
    struct front *front = heap_self == NULL ? NULL : heap_self->fronts;
    if (likely(front == NULL) || load_relaxed(&hooks_any) || !window_has(p) ||
        (uintptr_t)p % GRANULE != 0)
        return false;
    uint8_t *live = live_at(p);
    if (load_relaxed(live) != live_sign_watched(p))
        return false;
    const struct span *span = span_of(p);
    if (unlikely(span->kinds != KIND_OWNED))
        return false;
    if (unlikely(front->id != span->owner) &&
        (front = front_find(heap_self, owner_of(span))) == NULL)
        return false;
    struct front_bin *bin = front->bins[span->mark];
    if (unlikely(bin == NULL || bin->count == bin->cap))
        return false;
    store_relaxed(live, 0);
    return front_push(front, span->mark, p);
}

void cold_owned_give(void *p, struct span *span, struct heap *heap)
{
    unsigned class = mark_class(span->mark);
    struct owner *owner = owner_of(span);
    struct front *front =
        heap == NULL || span->kinds & KIND_RECORDED ? NULL : front_find(heap, owner);
    if (front != NULL && !owner->deleted && front_spill(front, class) &&
        front_push(front, class, p)) {
        tell_counts(front, class);
        return;
    }
    young_sum((struct heap_sums){.frees = 1, .free_bytes = class_size(class)});
    counts_direct(class, 0, 1);
    bool sample = span->kinds & KIND_RECORDED && sampler_rate() != SAMPLER_EXACT;
    owner_give(&p, 1);
    if (sample && heap != NULL && !owner->deleted && (front = front_find(heap, owner)) != NULL)
        front_replace(front, cold_pool(heap), class);
}

void *cold_lent_take(struct owner *owner, size_t size, size_t align, bool *zero)
{
    young.lending = true;
    void *block = owner->lend(owner, size, align, zero);
    young.lending = false;
    if (block == NULL) {
        triggers_failure();
        return NULL;
    }
    elsewhere_lent(lent_size(block));
    if (unlikely(load_relaxed(&hooks_any))) {
        filling_begin(block, false, zero);
        hooks_call_new(block, size);
    }
    return block;
}

struct memory_source cold_source;

void cold_set_source(struct memory_source source)
{
    hold_set(source.lender != NULL);
    store_release(&cold_source.grow, source.grow);
    store_release(&cold_source.lender, source.lender);
}

bool cold_source_grow(size_t size, size_t align)
{
    bool (*grow)(size_t) = load_acquire(&cold_source.grow);
    if (grow == NULL || size > PTRDIFF_MAX - align)
        return false;
    young.lending = true;
    bool more = grow(size + (align > UNIT ? align : 0));
    young.lending = false;
    return more;
}

struct owner *cold_owned_new(bool bound)
{
    struct owner *owner = NULL;
    struct caller here = CALLER_HERE;
    if (cold_begin(&here)) {
        struct heap *heap = cold_heap_adopted();
        if ((owner = owner_new()) != NULL)
            owner->maker = bound ? heap : NULL;
        cold_end();
    }
    return owner;
}

void cold_owned_delete(struct owner *owner)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return;
    struct heap *heap = heap_self;
    if (heap != NULL) {
        if (heap->default_owner == owner)
            heap->default_owner = NULL;
        front_leave(heap, owner);
    }
    owner_delete(owner);
    cold_end();
}

void cold_owned_destroy(struct owner *owner, const struct caller *caller)
{
    guarding_end_owned(owner, caller);
    if (!cold_begin(caller))
        return;
    if (heap_self != NULL && heap_self->default_owner == owner)
        heap_self->default_owner = NULL;
    end_all(owner, cold_heap_made(), caller);
    owner_end(owner);
    cold_end();
}

void cold_owned_reset(struct owner *owner, const struct caller *caller)
{
    guarding_end_owned(owner, caller);
    if (!cold_begin(caller))
        return;
    end_all(owner, cold_heap_made(), caller);
    cold_end();
}

static void end_all(struct owner *owner, struct heap *heap, const struct caller *caller)
{
    struct span *span;
    cold_look_at_peak();
    owner_end_begin(owner);
    while ((span = owner_end_next(owner)) != NULL)
        end_span(span, heap, caller);
}

/* The blocks of a span that is in no list any more. */
static void end_span(struct span *span, struct heap *heap, const struct caller *caller)
{
    if (span->state == SPAN_LARGE) {
        size_t size = large_size(span);
        store_relaxed(live_at(span_start(span)), 0);
        if (span->kinds & KIND_RECORDED)
            cold_large_forget(span, caller, size, false);
        cold_large_count(heap, (struct heap_sums){.frees = 1, .free_bytes = size});
        large_give(span);
        return;
    }
    unsigned class = mark_class(span->mark), live = 0;
    size_t size = class_size(class);
    for (unsigned i = 0; i < span->blocks; i++) {
        void *block = span_block(span, i, class);
        if (mark_of(block) == MARK_FREE)
            continue;
        store_relaxed(live_at(block), 0);
        struct record *record = central_record(span, block);
        if (record != NULL)
            track_end(record, caller, size, size - record->slack, false);
        live++;
    }
    young_sum((struct heap_sums){.frees = live, .free_bytes = live * size});
    counts_direct(class, 0, live);
    cut_end(span);
}

bool cold_grow_up(void)
{
    struct caller here = CALLER_HERE;
    if (heap_self == NULL && cold_begin(&here)) {
        cold_heap_adopted();
        cold_end();
    }
    return heap_self != NULL;
}

bool cold_owned_default(struct owner *owner)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return false;
    struct heap *heap = cold_heap_adopted();
    if (heap != NULL) {
        heap->default_owner = owner;
        heap->short_roads = 0;
        store_release(&heap_now, &heap_empty); /* all calls of this thread come by */
    }
    cold_end();
    return heap != NULL;
}

void cold_owned_end(struct heap *heap)
{
    fronts_end(heap);
    for (struct owner *owner = owner_first(); owner != NULL; owner = owner->all)
        if (owner->alive && !owner->deleted && owner->maker == heap)
            owner_delete(owner);
}
