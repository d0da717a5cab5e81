/* SPDX-License-Identifier: MIT */
/* See lib/api/cold.h. */
#include "lib/api/cold.h"

#include <string.h>

#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/abandoned.h"
#include "lib/api/attach.h"
#include "lib/api/cold_inside.h"
#include "lib/api/elsewhere.h"
#include "lib/api/emergency.h"
#include "lib/api/ending.h"
#include "lib/api/foreign.h"
#include "lib/api/hot.h"
#include "lib/api/init.h"
#include "lib/api/young.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { TICK_EVERY = 16 };

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
    young_forked();
}

bool cold_begin(const struct caller *caller)
{
    uint64_t place = abandoned_place((uintptr_t)__builtin_frame_address(0), caller);
    if (unlikely(lock_held != 0) && !abandoned_mend(place))
        return false;
    if (unlikely(!init_done()))
        return false;
    abandoned_enter(place);
    if (unlikely(alloc_forked()))
        recover();
    return true;
}

void cold_end(void)
{
    lock_leave(LOCK_INSIDE);
    if (unlikely(young.look != NULL))
        young.look();
    if (unlikely(load_relaxed(&profile_counting)))
        young_count();
    if (unlikely(held_bytes() - load_relaxed(&profile_band.low) >
                 load_relaxed(&profile_band.width)))
        profile_far();
    if (unlikely(load_relaxed(&profile_due)))
        triggers_run();
    if (unlikely(attach_rung()))
        attach_heard();
}

/* This thread's heap, made if need be and hot again; NULL when memory is out, or in a signal
 * handler before that. `often`: calls of this kind are frequent; one in 16 looks at the time. */
static struct heap *enter(bool often)
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
        do {             /* again only if another thread has changed the mode meanwhile */
            generation = heap_generation();
            configure(heap, generation);
        } while (!heap_arm(heap, generation));
    }
    if (!(often || heap->watched) || ++heap->visits % TICK_EVERY == 0)
        profile_tick(heap_tick(heap));
    return heap;
}

static struct heap *heap_here(bool often)
{
    return heap_self == NULL && young_is() ? NULL : enter(often);
}

struct heap *cold_heap(void)
{
    return heap_here(false);
}

void cold_fork_child(void)
{
    alloc_fork_child();
    if (cold_begin(NULL))
        cold_end();
}

void cold_thread_end(void)
{
    young.ended = true;
    young.sums = (struct heap_sums){0};
    if (heap_self != NULL && cold_begin(NULL)) {
        profile_thread_end();
        heap_end(heap_self);
        cold_end();
    }
}

unsigned cold_pool(const struct heap *heap)
{
    return heap == NULL ? young.pool : heap->pool;
}

unsigned cold_rate(const struct heap *heap)
{
    return heap != NULL && heap->watched ? SAMPLER_EXACT_NUMBER : sampler_number();
}

/* A block of a watched span gets its record. */
static void record(void *block, unsigned class, size_t size, const struct origin *origin,
                   unsigned rate)
{
    struct record *place = central_record(span_of(block), block);
    profile_begin(place, origin->caller, class, class_size(class), size, origin->born, rate);
    store_relaxed(live_at(block), live_sign_watched(block));
}

/* One block past the bins, watched or not. */
static void *take_direct(struct heap *heap, unsigned class, size_t size,
                         const struct origin *origin)
{
    unsigned mark = mark_make(class, heap == NULL ? young.colour : heap->colour);
    void *block = central_take_one(cold_pool(heap), origin ? CENTRAL_WATCHED + class : mark);
    if (block == NULL)
        return NULL;
    young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = class_size(class)});
    if (origin != NULL)
        record(block, class, size, origin, cold_rate(heap));
    else
        store_relaxed(live_at(block), live_sign(block));
    return block;
}

/* The clock of the bin ran out. True if that makes the next block a sample. */
static bool clock_ring(struct heap *heap, unsigned mark)
{
    size_t size = class_size(mark_class(mark));
    bool over = heap_clock_over(heap, mark);
    cold_look_at_peak();
    if (!over)
        return false;
    bool armed = heap_stock(heap, mark)->armed;
    uint64_t wait = sampler_blocks(&heap->random, size);
    bool hit = armed || wait == 0; /* a new bin's clock is at its end without a wait */
    if (hit && !armed)
        wait = sampler_blocks(&heap->random, size);
    heap_set_clock(heap, mark, wait);
    return hit;
}

/* A watched block. Where there is no memory for one, the sample is lost: an ordinary block from the
 * bin or the centre. */
static void *take_sample(struct heap *heap, unsigned mark, size_t size, const struct origin *origin)
{
    unsigned class = mark_class(mark);
    void *block = spare_take(heap, class);
    if (block != NULL) {
        record(block, class, size, origin, cold_rate(heap));
        return block;
    }
    block = take_direct(heap, class, size, origin);
    if (unlikely(block == NULL) && (block = heap_pop(heap, mark)) != NULL)
        store_relaxed(live_at(block), live_sign(block));
    return block != NULL ? block : take_direct(heap, class, size, NULL);
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
    /* Ends: a clock that ran out makes a sample, or is set to one block at least; a refill fails or
     * fills the bin. Only a signal handler can empty it again. */
    for (;;) {
        void *block = hot_pop(heap, mark);
        if (block != NULL)
            return block;
        if (heap->clock[mark] < 0) {
            if (clock_ring(heap, mark))
                return take_sample(heap, mark, size, origin);
        } else if (!heap_refill(heap, mark)) {
            return take_direct(heap, mark_class(mark), size, NULL);
        } else {
            cold_look_at_peak();
        }
    }
}

static void *take_inside(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    struct heap *heap = cold_heap();
    size_t room = sizes_room(size, align);
    if (room > BLOCK_MAX)
        return cold_large_take(heap, size == 0 ? 1 : size, align, origin, zero);
    if (heap != NULL)
        return take_block(heap, room, size, origin);
    unsigned class = class_of(room);
    void *block = NULL;
    if (young_ring(class_size(class)))
        block = take_direct(NULL, class, size, origin);
    return block != NULL ? block : take_direct(NULL, class, size, NULL);
}

void *cold_take(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    *zero = false;
    if (unlikely(!cold_begin(origin->caller)))
        return lock_held != 0 ? emergency_take(size, align) : NULL;
    void *block = take_inside(size, align, origin, zero);
    if (unlikely(block == NULL))
        block = elsewhere_take(size, align, zero);
    cold_end();
    if (unlikely(block == NULL))
        triggers_failure();
    return block;
}

void *cold_malloc(size_t size, const struct caller *caller)
{
    bool zero;
    return cold_take(size, GRANULE, &(struct origin){caller, 0}, &zero);
}

void *cold_malloc_moved(size_t size, const struct caller *caller)
{
    bool zero;
    return cold_take(size, GRANULE, &(struct origin){caller, PROFILE_MOVED}, &zero);
}

void *cold_calloc(size_t size, const struct caller *caller)
{
    bool zero;
    void *block = cold_take(size, GRANULE, &(struct origin){caller, 0}, &zero);
    if (block != NULL && !zero)
        large_clear(block, size);
    return block;
}

void *cold_aligned(size_t align, size_t size, const struct caller *caller)
{
    bool zero;
    return cold_take(size, align, &(struct origin){caller, 0}, &zero);
}

unsigned cold_mark(const void *p, bool *ours)
{
    *ours = window_has(p);
    if (!*ours || (uintptr_t)p % GRANULE != 0)
        return MARK_FREE;
    return mark_of(p);
}

void cold_free_watched(void *p, struct heap *heap, const struct caller *caller, bool moved)
{
    struct span *span = span_of(p);
    bool large = span->state == SPAN_LARGE;
    unsigned class = mark_class(span->mark);
    size_t size = large ? large_size(span) : class_size(class);
    if (__atomic_exchange_n(live_at(p), 0, __ATOMIC_ACQ_REL) == 0)
        fatal_freed_twice(p, size);
    if (large) {
        if (span->watched)
            cold_large_forget(span, caller, size, moved);
        cold_large_count(heap, (struct heap_sums){.frees = 1, .free_bytes = size});
        large_give(span);
        return;
    }
    struct record *place = central_record(span, p);
    profile_end(place, caller, size, size - place->slack, moved);
    if (heap != NULL && (heap->watched ? heap_push_watched(heap, mark_make(class, heap->colour), p)
                                       : spare_keep(heap, class, p)))
        return;
    young_sum((struct heap_sums){.frees = 1, .free_bytes = size});
    central_give(&p, 1);
}

void cold_look_at_peak(void)
{
    if (unlikely(held_by_program() - load_relaxed(&profile_calm.low) >
                     load_relaxed(&profile_calm.width) ||
                 held_bytes() >= load_relaxed(&profile_high)))
        profile_high_water();
}

static void free_inside(void *p, unsigned mark, const struct caller *caller)
{
    struct heap *heap = heap_here(mark == MARK_WATCHED);
    cold_look_at_peak();
    if (mark == MARK_LARGE || mark == MARK_WATCHED) {
        cold_free_watched(p, heap, caller, false);
        return;
    }
    if (unlikely(heap == NULL && heap_self != NULL) && heap_popped_lately(heap_self, mark, p))
        return; /* a handler on top of the hot path, which may be about to pop this block: lost */
    if (heap != NULL && (hot_push(heap, p) || (heap_spill(heap, mark) && hot_push(heap, p))))
        return;
    if (__atomic_exchange_n(live_at(p), 0, __ATOMIC_ACQ_REL) == 0)
        fatal_freed_twice(p, class_size(mark_class(mark)));
    young_sum((struct heap_sums){.frees = 1, .free_bytes = class_size(mark_class(mark))});
    central_give(&p, 1);
}

void cold_free(void *p, const struct caller *caller)
{
    bool ours;
    if (p == NULL)
        return;
    unsigned mark = cold_mark(p, &ours);
    if (unlikely(mark == MARK_FREE)) {
        if (emergency_owns(p) || elsewhere_free(p) || (!ours && foreign_free(p)))
            return;
        fatal_bad_pointer(p, "free");
    }
    if (unlikely(!cold_begin(caller)))
        return; /* in a signal handler that came upon us inside: lost, but nothing breaks */
    free_inside(p, mark, caller);
    cold_end();
}

size_t cold_usable_for(const void *p, const char *call)
{
    bool ours;
    unsigned mark = cold_mark(p, &ours);
    if (mark == MARK_FREE) {
        size_t size = emergency_owns(p) ? emergency_size(p) : outside_size(p);
        if (size != 0 || (!ours && (size = foreign_usable(p)) != 0))
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
    return cold_usable_for(p, "malloc_usable_size");
}

void cold_set_rate(long long bytes)
{
    if (!cold_begin(NULL))
        return;
    sampler_set_rate(bytes < 0 ? SAMPLER_OFF : bytes);
    profile_recording(bytes >= 0);
    heap_interrupt(NULL);
    cold_end();
}

size_t cold_trim(void)
{
    if (!cold_begin(NULL))
        return 0;
    if (heap_self != NULL)
        heap_flush(heap_self);
    heap_drop_parked(os_now_ms(), 0);
    heap_interrupt(&trim_generation);
    size_t bytes = alloc_purge();
    cold_end();
    return bytes;
}

void cold_flush(void)
{
    if (heap_self != NULL && cold_begin(NULL)) {
        heap_flush(heap_self);
        cold_end();
    }
}
