/* SPDX-License-Identifier: MIT */
/* See lib/api/cold.h. */
#include "lib/api/cold.h"

#include <string.h>

#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/api/attach.h"
#include "lib/api/emergency.h"
#include "lib/api/ending.h"
#include "lib/api/foreign.h"
#include "lib/api/hot.h"
#include "lib/api/young.h"
#include "lib/watch/watch.h"

enum {
    MOVE_LEAST = 64 << 10, /* larger blocks are moved by the kernel, not copied */
    EXACT_TICK_EVERY = 16,
};

static uint32_t trim_generation; /* heaps configured before it give everything back */

/* Clocks for the rate of now; and what a trim asked for. */
static void configure(struct heap *heap, uint32_t generation)
{
    if (heap->generation == generation)
        return;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        if (heap->stocks[mark] != 0)
            heap_set_clock(heap, mark, sampler_blocks(&heap->random, class_size(mark_class(mark))));
    heap->large_clock = sampler_bytes(&heap->random);
    bool exact = sampler_rate() == SAMPLER_EXACT;
    if (heap->watched != exact) {
        heap_flush(heap);
        heap->watched = exact;
        if (!exact)
            profile_settle();
    }
    if (heap->generation != 0 && (int32_t)(load_acquire(&trim_generation) - heap->generation) > 0)
        heap_flush(heap);
}

static void recover(void)
{
    uint32_t parent_id = lock_self();
    dumps_recover(parent_id);
    alloc_recover();
    profile_recover(parent_id);
    ending_forked();
    attach_forked();
}

bool cold_begin(void)
{
    if (unlikely(lock_held != 0) || unlikely(!init_done()))
        return false;
    lock_enter(LOCK_INSIDE);
    if (unlikely(alloc_forked()))
        recover();
    return true;
}

void cold_end(void)
{
    lock_leave(LOCK_INSIDE);
    if (unlikely(young.look != NULL))
        young.look();
    if (unlikely(load_relaxed(&profile_due)))
        triggers_run();
    if (unlikely(attach_rung()))
        attach_heard();
}

/* This thread's heap, made if need be and hot again; NULL when memory is out, or in a signal
 * handler before that. */
static struct heap *enter(void)
{
    struct heap *heap = heap_self;
    if (unlikely(heap == NULL)) {
        heap = heap_make(young.colour, young.pool);
        if (heap == NULL)
            return NULL;
        heap->random = young_seed();
        young.colour = heap->colour;
        young_grown();
        init_thread(heap);
    }
    if (unlikely(load_relaxed(&heap_now) != heap)) {
        uint32_t generation;
        if (young_on_top())
            return NULL; /* the next call comes here again */
        do {
            generation = heap_generation();
            configure(heap, generation);
        } while (!heap_arm(heap, generation));
    }
    /* Where every call comes here, few need to look around. */
    if (!heap->watched || ++heap->visits % EXACT_TICK_EVERY == 0)
        profile_tick(heap_tick(heap));
    return heap;
}

void cold_fork_child(void)
{
    alloc_fork_child();
    if (cold_begin())
        cold_end();
}

void cold_thread_end(void)
{
    young.ended = true;
    young.sums = (struct heap_sums){0};
    if (heap_self != NULL && cold_begin()) {
        profile_thread_end();
        heap_end(heap_self);
        cold_end();
    }
}

static unsigned pool_of(const struct heap *heap)
{
    return heap == NULL ? young.pool : heap->pool;
}

/* Adds to sums that only this thread writes. */
static void count(struct heap_sums *sums, const struct heap_sums *more)
{
    add_relaxed(&sums->allocs, more->allocs);
    add_relaxed(&sums->frees, more->frees);
    add_relaxed(&sums->alloc_bytes, more->alloc_bytes);
    add_relaxed(&sums->free_bytes, more->free_bytes);
}

/* A block that no bin saw; whoever handed it out counted it for all threads. */
static void count_direct(struct heap_sums more)
{
    count(&young.sums, &more);
}

/* What happened to a large block. Without a heap there are sums of the thread's own and all ended
 * threads'. */
static void count_large(struct heap *heap, struct heap_sums more)
{
    count(heap == NULL ? &young.sums : &heap->large, &more);
    if (heap == NULL)
        heap_count_ended(&more);
}

/* Who asks for a block, and what it goes on from (profile_begin). */
struct origin {
    const struct caller *caller;
    uint64_t born;
};

/* The rate that this thread picks blocks at. Its heap may not know the one of this moment yet; it
 * matters where every block is picked and would count for many. */
static unsigned rate_here(const struct heap *heap)
{
    return heap != NULL && heap->watched ? SAMPLER_EXACT_NUMBER : sampler_number();
}

/* A block of a watched span gets its record. */
static void record(void *block, unsigned class, size_t size, const struct origin *origin,
                   unsigned rate)
{
    struct record *place = central_record(span_of(block), block);
    profile_begin(place, origin->caller, class, class_size(class), size, origin->born, rate);
    store_relaxed(mark_at(block), MARK_WATCHED);
}

/* A large block becomes a watched one, if there is memory for its record. */
static void record_large(void *block, size_t size, const struct origin *origin, unsigned rate)
{
    struct span *span = span_of(block);
    struct large_record *place = meta_take(sizeof *place);
    if (place == NULL) {
        store_relaxed(mark_at(block), MARK_LARGE);
        return;
    }
    place->requested = size;
    span->record = meta_id(place);
    span->watched = true;
    profile_begin(&place->record, origin->caller, CLASS_COUNT, large_size(span), size, origin->born,
                  rate);
    store_relaxed(mark_at(block), MARK_WATCHED);
}

/* And ceases to be one. */
static void forget_large(struct span *span, const struct caller *caller, size_t usable, bool moved)
{
    struct large_record *place = meta_at(span->record);
    profile_end(&place->record, caller, usable, place->requested, moved);
    span->record = 0;
    span->watched = false;
    meta_give(place, sizeof *place);
}

/* One block past the bins, watched or not. */
static void *take_direct(struct heap *heap, unsigned class, size_t size,
                         const struct origin *origin)
{
    unsigned mark = mark_make(class, heap == NULL ? young.colour : heap->colour);
    void *block = central_take_one(pool_of(heap), origin ? CENTRAL_WATCHED + class : mark);
    if (block == NULL)
        return NULL;
    count_direct((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
    if (origin != NULL)
        record(block, class, size, origin, rate_here(heap));
    else
        store_relaxed(mark_at(block), (uint8_t)mark);
    return block;
}

/* The clock of the bin ran out. True if that makes the next block a sample. */
static bool clock_ring(struct heap *heap, unsigned mark)
{
    size_t size = class_size(mark_class(mark));
    if (!heap_clock_over(heap, mark))
        return false;
    bool armed = heap_stock(heap, mark)->armed;
    uint64_t wait = sampler_blocks(&heap->random, size);
    bool hit = armed || wait == 0; /* a new bin's clock is at its end without a wait */
    if (hit && !armed)
        wait = sampler_blocks(&heap->random, size);
    heap_set_clock(heap, mark, wait);
    return hit;
}

/* From the bin of the class that `room` bytes take; `size` is what the program asked for. */
static void *take_block(struct heap *heap, size_t room, size_t size, const struct origin *origin)
{
    unsigned mark = (unsigned)hot_mark(heap, room);
    if (heap->watched) {
        void *block = heap_pop_watched(heap, mark);
        if (unlikely(block == NULL)) /* there may be memory for the block, if not for its record */
            return take_direct(heap, mark_class(mark), size, NULL);
        record(block, mark_class(mark), size, origin, SAMPLER_EXACT_NUMBER);
        return block;
    }
    for (;;) {
        void *block = hot_pop(heap, mark);
        if (block != NULL)
            return block;
        if (heap->clock[mark] < 0) {
            if (clock_ring(heap, mark) &&
                (block = take_direct(heap, mark_class(mark), size, origin)) != NULL)
                return block;
        } else if (!heap_refill(heap, mark)) {
            return NULL;
        }
    }
}

/* True if `bytes` more of large memory include a sample. */
static bool large_ring(struct heap *heap, size_t bytes)
{
    if (__builtin_sub_overflow(heap->large_clock, (int64_t)bytes, &heap->large_clock))
        heap->large_clock = -1;
    if (heap->large_clock >= 0)
        return false;
    heap->large_clock = sampler_bytes(&heap->random);
    return sampler_rate() != SAMPLER_OFF;
}

static bool ring(struct heap *heap, size_t bytes)
{
    return heap == NULL ? young_ring(bytes) : large_ring(heap, bytes);
}

static void *take_large(struct heap *heap, size_t size, size_t align, const struct origin *origin,
                        bool *zero)
{
    void *block = large_take(pool_of(heap), size, align, zero);
    if (block == NULL)
        return NULL;
    size_t usable = large_size(span_of(block));
    count_large(heap, (struct heap_sums){.allocs = 1, .alloc_bytes = usable});
    if (ring(heap, usable))
        record_large(block, size, origin, rate_here(heap));
    else
        store_relaxed(mark_at(block), MARK_LARGE);
    return block;
}

/* This thread's heap, unless it is better off without. */
static struct heap *heap_here(void)
{
    return heap_self == NULL && young_is() ? NULL : enter();
}

/* Any size, any alignment; *zero: the block reads as zero. */
static void *take_inside(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    struct heap *heap = heap_here();
    size_t room = sizes_room(size, align);
    if (room > BLOCK_MAX)
        return take_large(heap, size == 0 ? 1 : size, align, origin, zero);
    if (heap != NULL)
        return take_block(heap, room, size, origin);
    unsigned class = class_of(room);
    void *block = NULL;
    if (young_ring(class_size(class)))
        block = take_direct(NULL, class, size, origin);
    return block != NULL ? block : take_direct(NULL, class, size, NULL);
}

static void *take(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    *zero = false;
    if (unlikely(!cold_begin()))
        return lock_held != 0 ? emergency_take(size, align) : NULL;
    void *block = take_inside(size, align, origin, zero);
    cold_end();
    if (unlikely(block == NULL))
        triggers_failure();
    return block;
}

void *cold_malloc(size_t size, const struct caller *caller)
{
    bool zero;
    return take(size, GRANULE, &(struct origin){caller, 0}, &zero);
}

void *cold_malloc_moved(size_t size, const struct caller *caller)
{
    bool zero;
    return take(size, GRANULE, &(struct origin){caller, PROFILE_MOVED}, &zero);
}

void *cold_calloc(size_t size, const struct caller *caller)
{
    bool zero;
    void *block = take(size, GRANULE, &(struct origin){caller, 0}, &zero);
    if (block != NULL && !zero)
        memset(block, 0, size);
    return block;
}

void *cold_aligned(size_t align, size_t size, const struct caller *caller)
{
    bool zero;
    return take(size, align, &(struct origin){caller, 0}, &zero);
}

/* The mark of p if p may be a block at all; MARK_FREE otherwise. *ours: p is in the window. */
static unsigned mark_of(const void *p, bool *ours)
{
    uintptr_t offset = (uintptr_t)p - window.base;
    *ours = offset < load_relaxed(&window.granules) * GRANULE;
    if (!*ours || (uintptr_t)p % GRANULE != 0)
        return MARK_FREE;
    return load_relaxed(mark_at(p));
}

/* A large or a watched block. `moved`: realloc goes on with another one. */
static void free_span_block(void *p, struct heap *heap, const struct caller *caller, bool moved)
{
    struct span *span = span_of(p);
    bool large = span->state == SPAN_LARGE;
    unsigned class = mark_class(span->mark);
    size_t size = large ? large_size(span) : class_size(class);
    if (__atomic_exchange_n(mark_at(p), MARK_FREE, __ATOMIC_ACQ_REL) == MARK_FREE)
        fatal_freed_twice(p, size);
    if (large) {
        if (span->watched)
            forget_large(span, caller, size, moved);
        count_large(heap, (struct heap_sums){.frees = 1, .free_bytes = size});
        large_give(span);
        return;
    }
    struct record *place = central_record(span, p);
    profile_end(place, caller, size, size - place->slack, moved);
    if (heap != NULL && heap->watched && heap_push_watched(heap, mark_make(class, heap->colour), p))
        return;
    count_direct((struct heap_sums){.frees = 1, .free_bytes = size});
    central_give(&p, 1);
}

static void free_inside(void *p, unsigned mark, const struct caller *caller)
{
    struct heap *heap = heap_here();
    if (mark == MARK_LARGE || mark == MARK_WATCHED) {
        free_span_block(p, heap, caller, false);
        return;
    }
    if (unlikely(heap == NULL && heap_self != NULL) && heap_popped_lately(heap_self, mark, p))
        return; /* a handler on top of the hot path, which may be about to pop this block: lost */
    if (heap != NULL && (hot_push(heap, p) || (heap_spill(heap, mark) && hot_push(heap, p))))
        return;
    if (__atomic_exchange_n(mark_at(p), MARK_FREE, __ATOMIC_ACQ_REL) == MARK_FREE)
        fatal_freed_twice(p, class_size(mark_class(mark)));
    count_direct((struct heap_sums){.frees = 1, .free_bytes = class_size(mark_class(mark))});
    central_give(&p, 1);
}

void cold_free(void *p, const struct caller *caller)
{
    bool ours;
    if (p == NULL)
        return;
    unsigned mark = mark_of(p, &ours);
    if (unlikely(mark == MARK_FREE)) {
        if (!ours && (emergency_owns(p) || foreign_free(p)))
            return;
        fatal_bad_pointer(p, "free");
    }
    if (unlikely(!cold_begin()))
        return; /* in a signal handler that came upon us inside: lost, but nothing breaks */
    free_inside(p, mark, caller);
    cold_end();
}

static size_t usable_for(const void *p, const char *call)
{
    bool ours;
    unsigned mark = mark_of(p, &ours);
    if (mark == MARK_FREE) {
        size_t size = ours ? 0 : emergency_owns(p) ? emergency_size(p) : foreign_usable(p);
        if (size != 0)
            return size;
        fatal_bad_pointer(p, call);
    }
    if (mark != MARK_LARGE && mark != MARK_WATCHED)
        return class_size(mark_class(mark));
    struct span *span = span_of(p);
    return span->state == SPAN_LARGE ? large_size(span) : class_size(mark_class(span->mark));
}

size_t cold_usable(const void *p)
{
    return usable_for(p, "malloc_usable_size");
}

/* A block that became longer may become a sample by that; one that became shorter may cease to be
 * one. Either way it is one with the probability of its new size. */
static void resized(struct heap *heap, void *p, struct span *span, size_t before, size_t size,
                    const struct caller *caller)
{
    size_t now = large_size(span);
    struct origin origin = {caller, PROFILE_MOVED};
    unsigned rate = 0;
    bool known = false;
    if (now > before)
        count_large(heap, (struct heap_sums){.alloc_bytes = now - before});
    else
        count_large(heap, (struct heap_sums){.free_bytes = before - now});
    if (span->watched) {
        struct large_record *place = meta_at(span->record);
        origin.born = profile_born(&place->record);
        known = profile_rate(&place->record, &rate);
        forget_large(span, caller, before, true);
        store_relaxed(mark_at(p), MARK_LARGE);
    }
    uint64_t *random = heap == NULL ? &young.random : &heap->random;
    if (known) {
        if (now >= before || sampler_keeps(random, before, now, sampler_rate_of(rate)))
            record_large(p, size, &origin, rate);
    } else if (now > before && ring(heap, now - before)) {
        record_large(p, size, &origin, rate_here(heap));
    }
}

static void *realloc_large(void *p, struct span *span, size_t size, const struct caller *caller)
{
    size_t before = large_size(span);
    struct heap *heap = heap_here();
    if (large_resize(span, size)) {
        resized(heap, p, span, before, size, caller);
        return p;
    }
    bool zero;
    struct large_record *place = span->watched ? meta_at(span->record) : NULL;
    struct origin origin = {caller, place == NULL ? PROFILE_MOVED : profile_born(&place->record)};
    void *block = take_large(heap, size, GRANULE, &origin, &zero);
    if (block == NULL)
        return NULL;
    size_t kept = before < size ? before : size;
    /* Onto memory that was in use before, copying costs less than the faults after moving. */
    enum os_moved moved = OS_STAYED;
    if (kept >= MOVE_LEAST && zero)
        moved = large_move(span, span_of(block));
    if (moved == OS_LOST) {
        size_t usable = large_size(span_of(block));
        count_large(heap, (struct heap_sums){.frees = 1, .free_bytes = usable});
        *mark_at(block) = MARK_FREE;
        if (span_of(block)->watched)
            forget_large(span_of(block), caller, usable, true);
        large_abandon(span_of(block));
        return NULL;
    }
    if (moved == OS_STAYED)
        memcpy(block, p, kept);
    free_span_block(p, heap, caller, true);
    return block;
}

/* The same block for another size: who asked for it last is remembered. */
static void renew(void *p, size_t usable, size_t size, const struct caller *caller)
{
    struct span *span = span_of(p);
    if (!cold_begin())
        return;
    if (span->state == SPAN_LARGE) {
        resized(heap_here(), p, span, usable, size, caller);
    } else {
        struct record *place = central_record(span, p);
        uint64_t born = profile_born(place);
        unsigned rate;
        bool known = profile_rate(place, &rate);
        profile_end(place, caller, usable, usable - place->slack, true);
        if (known)
            profile_begin(place, caller, mark_class(span->mark), usable, size, born, rate);
    }
    cold_end();
}

void *cold_realloc(void *p, size_t size, const struct caller *caller)
{
    bool ours, zero;
    unsigned mark = mark_of(p, &ours);
    if (mark != MARK_FREE && span_of(p)->state == SPAN_LARGE && size > BLOCK_MAX &&
        units_of(size) != span_of(p)->units) {
        if (!cold_begin())
            return NULL;
        void *block = realloc_large(p, span_of(p), size, caller);
        cold_end();
        if (unlikely(block == NULL))
            triggers_failure();
        return block;
    }
    size_t usable = usable_for(p, "realloc");
    if (size <= usable && size > usable / 2) {
        if (mark == MARK_WATCHED)
            renew(p, usable, size, caller);
        return p;
    }
    struct origin origin = {caller, PROFILE_MOVED};
    if (mark == MARK_WATCHED)
        origin.born = profile_born(central_record(span_of(p), p));
    void *block = take(size, GRANULE, &origin, &zero);
    if (block == NULL)
        return size <= usable ? p : NULL;
    memcpy(block, p, size < usable ? size : usable);
    if (mark == MARK_WATCHED && cold_begin()) {
        free_span_block(p, heap_here(), caller, true);
        cold_end();
    } else {
        cold_free(p, caller);
    }
    return block;
}

void cold_set_rate(long long bytes)
{
    if (!cold_begin())
        return;
    sampler_set_rate(bytes < 0 ? SAMPLER_OFF : bytes);
    heap_interrupt();
    cold_end();
}

size_t cold_trim(void)
{
    if (!cold_begin())
        return 0;
    if (heap_self != NULL)
        heap_flush(heap_self);
    heap_drop_parked(os_now_ms(), 0);
    store_release(&trim_generation, heap_generation() + 1);
    heap_interrupt();
    size_t bytes = alloc_purge();
    cold_end();
    return bytes;
}

void cold_flush(void)
{
    if (heap_self != NULL && cold_begin()) {
        heap_flush(heap_self);
        cold_end();
    }
}
