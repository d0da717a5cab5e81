/* SPDX-License-Identifier: MIT */
/* Large blocks on the slow path; see lib/api/cold_inside.h. */
#include "lib/api/cold_inside.h"
#include "lib/api/young.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

void cold_large_count(struct heap *heap, struct heap_sums more)
{
    cold_large_sum(heap, more);
    if (more.allocs != 0)
        __atomic_fetch_add(&large_counts[large_size_index(more.alloc_bytes)].allocs, more.allocs,
                           __ATOMIC_RELAXED);
    if (more.frees != 0)
        __atomic_fetch_add(&large_counts[large_size_index(more.free_bytes)].frees, more.frees,
                           __ATOMIC_RELAXED);
}

void cold_large_sum(struct heap *heap, struct heap_sums more)
{
    if (heap == NULL) {
        young_sum(more);
        heap_count_ended(&more);
    } else {
        heap_sums_add(&heap->large, &more);
    }
    counts_large(heap, &more);
}

void cold_large_record(void *block, size_t size, const struct origin *origin, unsigned rate)
{
    struct span *span = span_of(block);
    struct large_record *place = meta_take(sizeof *place);
    if (place == NULL) {
        track_lost();
        store_relaxed(live_at(block), live_sign(block));
        return;
    }
    place->requested = size;
    span->record = meta_id(place);
    span->kinds |= KIND_RECORDED;
    track_begin(&place->record, origin->caller, CLASS_COUNT, large_size(span), size, origin->born,
                rate);
    store_relaxed(live_at(block), live_sign_watched(block));
}

void cold_large_forget(struct span *span, const struct caller *caller, size_t usable, bool moved)
{
    struct large_record *place = meta_at(span->record);
    track_end(&place->record, caller, usable, place->requested, moved);
    span->record = 0;
    span->kinds &= (uint8_t)~KIND_RECORDED;
    meta_give(place, sizeof *place);
}

static bool heap_rings(struct heap *heap, size_t bytes)
{
    if (__builtin_sub_overflow(heap->large_clock, (int64_t)bytes, &heap->large_clock))
        heap->large_clock = -1;
    if (heap->large_clock >= 0)
        return false;
    heap->large_clock = sampler_bytes(&heap->random);
    return sampler_rate() != SAMPLER_OFF;
}

bool cold_large_rings(struct heap *heap, size_t bytes)
{
    return heap == NULL ? young_ring(bytes) : heap_rings(heap, bytes);
}

void cold_large_begin(struct heap *heap, void *block, size_t size, const struct origin *origin)
{
    size_t usable = large_size(span_of(block));
    cold_large_count(heap, (struct heap_sums){.allocs = 1, .alloc_bytes = usable});
    if (cold_large_rings(heap, usable))
        cold_large_record(block, size, origin, cold_rate(heap));
    else
        store_relaxed(live_at(block), live_sign(block));
}

void *cold_large_take(struct heap *heap, size_t size, size_t align, const struct origin *origin,
                      bool *zero)
{
    void *block = large_take(pages_node(cold_pool(heap)), size, align, zero);
    if (block != NULL)
        cold_large_begin(heap, block, size, origin);
    return block;
}
