/* SPDX-License-Identifier: MIT */
/*
 * Entering and leaving the slow code, in each thread and each process; see lib/api/cold.h. The
 * other parts: cold_take.c gives blocks, cold_free.c takes them back, cold_realloc.c changes their
 * sizes, cold_large.c is what all three have to do for large ones.
 */
#include "lib/api/cold.h"

#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/abandoned.h"
#include "lib/api/cold_inside.h"
#include "lib/api/hooks.h"
#include "lib/api/init.h"
#include "lib/api/observers.h"
#include "lib/api/young.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/leak/leak.h"
#include "lib/process/process.h"

enum {
    TICK_EVERY = 16,    /* of visits that are frequent, one in this many looks at the time */
    COUNT_EVERY = 1024, /* exact mode: visits until the recorder file gets the heap's counts */
};

static uint32_t trim_generation; /* heaps configured before it give everything back */

void cold_set_clocks(struct heap *heap)
{
    bool hidden = heap_hide(heap); /* what is counted now must not be popped by a signal handler */
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        if (heap->slots[mark] != NULL)
            heap_set_clock(heap, mark,
                           sampler_blocks(&heap->random, class_size(mark_class(mark)),
                                          pace_rate(&heap->pace)));
    if (hidden)
        heap_show(heap);
}

/* Clocks for the rate of now; and what a trim asked for. */
static void configure(struct heap *heap, uint32_t generation)
{
    if (heap->generation == generation)
        return;
    pace_start(&heap->pace);
    cold_set_clocks(heap);
    heap->large_clock = sampler_bytes(&heap->random);
    bool exact = sampler_rate() == SAMPLER_EXACT;
    if (heap->watched != exact) {
        heap_flush(heap);
        heap->watched = exact;
        if (!exact)
            totals_settle();
    }
    if (heap->generation != 0 && (int32_t)(load_acquire(&trim_generation) - heap->generation) > 0) {
        heap_flush(heap);
        fronts_flush(heap);
    }
    counts_visit(heap);
}

/* In a child that was forked: its memory is repaired by the first thread that comes here, and what
 * belongs to threads by the one that forked (recover.c). A child of vfork is no such thread. */
static void recover(void)
{
    if (!alloc_forked() && heap_self != NULL && !heap_self->inherited)
        return; /* a thread of the child's own: it need not ask the kernel */
    bool first = os_is_first_thread();
    if (alloc_repair_begin()) {
        uint32_t parent_id = first ? lock_self() : 0;
        dumps_recover(parent_id);
        observers_forked_before();
        alloc_recover(parent_id, first);
        observers_forked(parent_id, first);
        ending_forked();
        attach_forked();
        young_forked();
        alloc_repair_end(first);
    } else if (first && !alloc_settled() && !os_shares_memory()) {
        alloc_claim();
        observers_forked_claim();
        alloc_repair_end(true);
    }
}

bool cold_begin(const struct caller *caller)
{
    uint64_t place = abandoned_place((uintptr_t)__builtin_frame_address(0), caller);
    if (unlikely(lock_held != 0) && !abandoned_mend(place))
        return false;
    if (unlikely(!init_done()))
        return false;
    abandoned_enter(place);
    if (unlikely(!alloc_settled()))
        recover();
    if (unlikely(young.open == 0))
        young_note_signals();
    return true;
}

void cold_end(void)
{
    lock_leave(LOCK_INSIDE);
    if (unlikely(young.look != NULL))
        young.look();
    if (unlikely(load_relaxed(&totals_counting)))
        young_count();
    if (unlikely(held_bytes() - load_relaxed(&totals_band.low) > load_relaxed(&totals_band.width)))
        totals_far();
    if (unlikely(load_relaxed(&totals_due)))
        triggers_run();
    if (unlikely(attach_rung()))
        attach_heard();
}

/* A heap for this thread, which has none. NULL when memory is out. */
static struct heap *heap_adopted(void)
{
    struct heap *heap = heap_make(young.colour, young.pool);
    if (heap == NULL)
        return NULL;
    heap->random = young_seed();
    heap_sums_store(&heap->past, &young.sums);
    young.sums = (struct heap_sums){0};
    threads_has_heap(heap);
    counts_adopt(heap);
    young.colour = heap->colour;
    young_note_signals();
    init_thread(heap);
    return heap;
}

/* This thread's heap, made if need be and hot again; NULL when memory is out, or in a signal
 * handler before that. `often`: calls of this kind are frequent; one in 16 looks at the time. */
static struct heap *enter(bool often)
{
    struct heap *heap = heap_self;
    if (unlikely(heap == NULL) && (heap = heap_adopted()) == NULL)
        return NULL;
    if (unlikely(load_relaxed(&heap_now) != heap) && likely(heap->default_owner == NULL)) {
        uint32_t generation;
        if (young_in_handler())
            return NULL; /* the next call comes here again */
        do {             /* again only if another thread has changed the mode meanwhile */
            generation = heap_generation();
            configure(heap, generation);
        } while (!heap_arm(heap, generation));
    }
    if (!(often || heap->watched) || ++heap->visits % TICK_EVERY == 0)
        totals_tick(heap_tick(heap));
    if (unlikely(heap->watched && heap->visits % COUNT_EVERY == 0))
        counts_all(heap);
    return heap;
}

/* While there are hooks, all calls of the thread come by. */
static struct heap *hidden_for_hooks(struct heap *heap)
{
    if (unlikely(load_relaxed(&hooks_any)) && heap != NULL)
        heap_hide(heap);
    return heap;
}

/* With `harden`: a heap from the first call on, which the hot path never finds. */
static struct heap *heap_hardened(void)
{
    struct heap *heap = heap_self;
    if (unlikely(!young.known))
        young_is();
    if (unlikely(young.ended || (heap == NULL && (heap = heap_adopted()) == NULL)))
        return NULL;
    if (unlikely(heap->delay == NULL) && (heap->delay = delay_make()) == NULL)
        return NULL;
    uint32_t generation = heap_generation();
    if (unlikely(heap->generation != generation)) {
        configure(heap, generation);
        store_relaxed(&heap->generation, generation);
    }
    bool short_roads = !heap->watched && heap->default_owner == NULL && !load_relaxed(&hooks_any);
    heap->short_roads = short_roads ? generation : 0;
    if (++heap->visits % TICK_EVERY == 0)
        totals_tick(heap_tick(heap));
    return heap;
}

struct heap *cold_heap_made(void)
{
    if (unlikely(harden_on) && !guard_calls)
        return heap_hardened();
    return young.ended || guard_calls ? NULL : hidden_for_hooks(enter(true));
}

struct heap *cold_heap_adopted(void)
{
    if (likely(!guard_calls))
        return cold_heap_made();
    if (young.ended)
        return NULL;
    return heap_self != NULL ? heap_self : heap_adopted();
}

struct heap *cold_heap(bool often)
{
    if (unlikely(guard_calls)) { /* no heap: its bins would serve the hot path */
        young_is();
        return NULL;
    }
    if (unlikely(harden_on))
        return heap_hardened();
    return hidden_for_hooks(heap_self == NULL && young_is() ? NULL : enter(often));
}

void cold_fork_child(void)
{
    alloc_fork_child();
    if (cold_begin(NULL))
        cold_end();
    observers_fork_child();
}

void cold_settle(void)
{
    if (alloc_forked() && cold_begin(NULL))
        cold_end();
}

void cold_thread_end(void)
{
    young.ended = true;
    young.sums = (struct heap_sums){0};
    if (heap_self == NULL)
        return;
    if (!cold_begin(NULL)) {
        tail_doubt(); /* it was cancelled in a call */
    } else {
        observers_thread_end_inside();
        cold_owned_end(heap_self);
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

unsigned cold_bin_rate(const struct heap *heap)
{
    return heap == NULL || heap->watched ? cold_rate(heap) : pace_number(&heap->pace);
}

void cold_look_at_peak(void)
{
    if (unlikely(held_by_program() - load_relaxed(&totals_calm.low) >
                     load_relaxed(&totals_calm.width) ||
                 held_bytes() >= load_relaxed(&totals_high)))
        totals_high_water();
}

void cold_set_rate(long long bytes)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return;
    sampler_set_rate(bytes < 0 ? SAMPLER_OFF : bytes);
    track_recording(bytes >= 0);
    heap_interrupt(NULL);
    cold_end();
}

size_t cold_trim(void)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return 0;
    if (heap_self != NULL) {
        heap_flush(heap_self);
        fronts_flush(heap_self);
    }
    heap_drop_parked(os_now_ms(), 0);
    heap_interrupt(&trim_generation);
    size_t bytes = alloc_purge(SIZE_MAX);
    cold_end();
    return bytes;
}

void cold_hooks_changed(void)
{
    struct caller here = CALLER_HERE;
    bool any = hooks_fill || load_relaxed(&calls_any);
    for (unsigned i = 0; i < HOOKS_MAX; i++)
        any |= load_relaxed(&hooks_set.on_new[i]) != NULL ||
               load_relaxed(&hooks_set.on_delete[i]) != NULL;
    store_release(&hooks_any, any);
    if (cold_begin(&here)) {
        heap_interrupt(NULL);
        cold_end();
    }
}

size_t cold_release(size_t max)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return 0;
    size_t bytes = alloc_purge(max);
    cold_end();
    return bytes;
}

void cold_flush(void)
{
    struct caller here = CALLER_HERE;
    if (heap_self != NULL && cold_begin(&here)) {
        heap_flush(heap_self);
        fronts_flush(heap_self);
        cold_end();
    }
}
