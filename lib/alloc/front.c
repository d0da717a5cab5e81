/* SPDX-License-Identifier: MIT */
/*
 * Fronts: what a thread keeps of an owner (lib/alloc/owner.h). They belong to the thread's heap and
 * end with it. Only that thread changes them, but for an owner that is ended with all its blocks:
 * then no thread may be using it.
 */
#include "lib/alloc/owner.h"

/* A thread may have a bin for each class of each owner, so they are smaller than those of heaps and
 * do not grow. With 120 slots and its head of 40 bytes a bin fits into 1 KiB of meta
 * memory; with fewer than 4 blocks it would save hardly a visit to the owner's lock. */
enum { BIN_BYTES = 32 << 10, BIN_MAX = 120, BIN_MIN = 4 };

struct front *front_find(struct heap *heap, const struct owner *owner)
{
    struct front **place = &heap->fronts;
    while (*place != NULL && load_acquire(&(*place)->owner) != owner)
        place = &(*place)->next;
    struct front *front = *place;
    if (front != NULL && front != heap->fronts) {
        *place = front->next;
        front->next = heap->fronts;
        store_release(&heap->fronts, front);
    }
    return front;
}

/* What the front has counted stays with the heap. */
static void front_fold(struct heap *heap, struct front *front)
{
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct front_bin *bin = front->bins[class];
        if (bin == NULL)
            continue;
        heap_sums_add(&heap->past, &(struct heap_sums){bin->mallocs, bin->frees,
                                                       bin->mallocs * class_size(class),
                                                       bin->frees * class_size(class)});
        bin->mallocs = bin->frees = bin->told_mallocs = bin->told_frees = 0;
    }
}

struct front *front_get(struct heap *heap, struct owner *owner)
{
    struct front *front = front_find(heap, owner);
    if (front != NULL)
        return front;
    front = front_find(heap, NULL);
    if (front != NULL) {
        front_fold(heap, front);
    } else {
        if ((front = meta_take(sizeof *front)) == NULL)
            return NULL;
        front->next = heap->fronts;
        store_release(&heap->fronts, front);
    }
    lock_take(&heap_lock);
    front->clock = 0;
    front->generation = 0;
    front->sibling = owner->fronts;
    store_relaxed(&front->id, meta_id(owner));
    store_release(&front->owner, owner);
    store_release(&owner->fronts, front);
    lock_give(&heap_lock);
    return front;
}

static struct front_bin *bin_get(struct front *front, unsigned class)
{
    struct front_bin *bin = front->bins[class];
    if (bin != NULL)
        return bin;
    size_t cap = BIN_BYTES / class_size(class);
    cap = cap > BIN_MAX ? BIN_MAX : cap < BIN_MIN ? BIN_MIN : cap;
    if ((bin = meta_take(sizeof *bin + cap * sizeof bin->slots[0])) == NULL)
        return NULL;
    bin->cap = (uint32_t)cap;
    store_release(&front->bins[class], bin);
    return bin;
}

bool front_refill(struct front *front, unsigned pool, unsigned class)
{
    struct front_bin *bin = bin_get(front, class);
    if (bin == NULL)
        return false;
    unsigned half = bin->cap / 2, got;
    got = owner_take(front->owner, pool, class, OWNED_PLAIN, bin->slots + bin->count,
                     half < bin->cap - bin->count ? half : bin->cap - bin->count);
    store_relaxed(&bin->count, bin->count + got);
    return bin->count > 0;
}

/* Gives the older half back, the one that was pushed first. */
static void bin_give(struct front_bin *bin, unsigned count)
{
    unsigned kept = bin->count - count;
    void *out[BIN_MAX];
    for (unsigned i = 0; i < count; i++)
        out[i] = bin->slots[i];
    for (unsigned i = 0; i < kept; i++)
        bin->slots[i] = bin->slots[i + count];
    store_relaxed(&bin->count, kept);
    owner_give(out, count);
}

bool front_spill(struct front *front, unsigned class)
{
    struct front_bin *bin = bin_get(front, class);
    if (bin == NULL)
        return false;
    if (bin->count == bin->cap)
        bin_give(bin, bin->cap / 2);
    return true;
}

void front_replace(struct front *front, unsigned pool, unsigned class)
{
    struct front_bin *bin = bin_get(front, class);
    if (bin == NULL || bin->count == bin->cap)
        return;
    unsigned got = owner_take(front->owner, pool, class, OWNED_PLAIN, bin->slots + bin->count, 1);
    store_relaxed(&bin->count, bin->count + got);
}

static void front_flush(struct front *front)
{
    for (unsigned class = 1; front->owner != NULL && class < CLASS_COUNT; class ++)
        if (front->bins[class] != NULL && front->bins[class]->count > 0)
            bin_give(front->bins[class], front->bins[class]->count);
}

void fronts_flush(struct heap *heap)
{
    for (struct front *front = heap->fronts; front != NULL; front = front->next)
        front_flush(front);
}

/* Its mallocs pass to the owner: the sum over both stays the same. */
static void front_detach(struct front *front)
{
    lock_take(&heap_lock);
    struct owner *owner = front->owner;
    if (owner != NULL) {
        struct front **place = &owner->fronts;
        while (*place != front)
            place = &(*place)->sibling;
        *place = front->sibling;
        for (unsigned class = 1; class < CLASS_COUNT; class ++)
            if (front->bins[class] != NULL)
                owner_count(owner, class, OWNED_PLAIN, front->bins[class]->mallocs);
        front->owner = NULL;
        front->id = 0;
    }
    lock_give(&heap_lock);
}

void front_leave(struct heap *heap, const struct owner *owner)
{
    struct front *front = front_find(heap, owner);
    if (front == NULL)
        return;
    front_flush(front);
    front_detach(front);
}

static size_t bin_bytes(const struct front_bin *bin)
{
    return sizeof *bin + bin->cap * sizeof bin->slots[0];
}

static void front_end(struct front *front)
{
    front_detach(front);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        if (front->bins[class] != NULL)
            meta_give(front->bins[class], bin_bytes(front->bins[class]));
    meta_give(front, sizeof *front);
}

void fronts_end(struct heap *heap)
{
    fronts_flush(heap);
    while (heap->fronts != NULL) {
        struct front *front = heap->fronts;
        store_release(&heap->fronts, front->next);
        front_end(front);
    }
    heap_sums_store(&heap->past, &(struct heap_sums){0});
    heap->default_owner = NULL;
}

/* A block that belongs to nothing else, which its live byte and its bit tell. */
static void block_salvage(void *block)
{
    if (!window_has(block) || mark_of(block) != MARK_FREE)
        return;
    struct span *span = span_of(block);
    unsigned class = mark_class(span->mark), index = span_index(span, block, class);
    if (span->state == SPAN_BLOCKS && span->kinds & KIND_OWNED && index < span->blocks &&
        span_block(span, index, class) == block && !(span->bits[index / 64] >> (index % 64) & 1))
        owner_give(&block, 1);
}

void fronts_salvage(struct heap *heap)
{
    for (struct front *front = heap->fronts; front != NULL; front = front->next)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            struct front_bin *bin = front->bins[class];
            for (unsigned i = 0; bin != NULL && front->owner != NULL && i < bin->count; i++)
                block_salvage(bin->slots[i]);
            if (bin != NULL)
                bin->count = 0;
        }
    fronts_end(heap);
}

void fronts_sums(const struct heap *heap, struct heap_sums *sums)
{
    *sums = heap->past;
    for (const struct front *front = heap->fronts; front != NULL; front = front->next)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            const struct front_bin *bin = front->bins[class];
            if (bin == NULL)
                continue;
            sums->allocs += bin->mallocs;
            sums->frees += bin->frees;
            sums->alloc_bytes += bin->mallocs * class_size(class);
            sums->free_bytes += bin->frees * class_size(class);
        }
}
