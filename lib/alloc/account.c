/* SPDX-License-Identifier: MIT */
/* See lib/alloc/account.h. */
#include "lib/alloc/account.h"

#include <string.h>

/* A bin's numbers, read while its thread may exchange the stock: again until it stood still. */
static uint64_t mallocs_of(const struct heap *heap, unsigned class)
{
    for (;;) {
        struct stock *before = load_acquire(&heap->stocks[class]);
        uint64_t mallocs = heap_mallocs(heap, class);
        if (load_acquire(&heap->stocks[class]) == before)
            return mallocs;
    }
}

static void class_sum(unsigned class, struct account_sum *sum, uint64_t *live, uint64_t *cached,
                      uint64_t *here)
{
    uint64_t out = 0, in_bins = 0, mallocs = heap_retired_mallocs(class), watched_out = 0;
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        if (!load_acquire(&heap->alive))
            continue;
        mallocs += mallocs_of(heap, class);
        in_bins += heap_cached(heap, class);
    }
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        for (unsigned colour = 0; colour < COLOURS; colour++) {
            const struct central *c = central_peek(pool, mark_make(class, colour));
            if (c == NULL || (class > TINY_CLASSES && colour > 0))
                break;
            out += load_relaxed(&c->out);
            *here += load_relaxed(&c->here);
        }
        const struct central *watched = central_peek(pool, CENTRAL_WATCHED + class);
        if (watched != NULL) {
            watched_out += load_relaxed(&watched->out);
            mallocs += load_relaxed(&watched->taken);
            *here += load_relaxed(&watched->here);
        }
    }
    *live = out - in_bins + watched_out;
    *cached = in_bins;
    sum->allocs = mallocs;
    sum->frees = mallocs - *live;
    sum->alloc_bytes = mallocs * class_size(class);
    sum->free_bytes = sum->frees * class_size(class);
}

/* Tiny blocks of other colours wait in bins that know no class: count them apart. */
static uint64_t foreign_cached(uint64_t by_class[CLASS_COUNT])
{
    uint64_t blocks = 0;
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        if (!load_acquire(&heap->alive))
            continue;
        size_t count = heap_cached(heap, BIN_FOREIGN);
        for (size_t i = 1; i <= count; i++) {
            const void *block = load_relaxed(&heap->stocks[BIN_FOREIGN]->slots[i]);
            if ((uintptr_t)block - window.base < window.granules * GRANULE) {
                unsigned class = mark_class(span_of(block)->mark);
                by_class[class < CLASS_COUNT ? class : 0]++;
                blocks++;
            }
        }
    }
    return blocks;
}

void account_class(unsigned class, struct account_sum *sum)
{
    uint64_t live = 0, cached = 0, here = 0, foreign[CLASS_COUNT] = {0};
    class_sum(class, sum, &live, &cached, &here);
    foreign_cached(foreign);
    sum->frees += foreign[class];
    sum->free_bytes += foreign[class] * class_size(class);
}

static void large_sum(struct account *account)
{
    const struct heap *heap = &heap_retired;
    struct account_sum *total = &account->total;
    uint64_t allocs = 0, frees = 0, alloc_bytes = 0, free_bytes = 0;
    for (const struct heap *next = heap_first(); heap != NULL; heap = next) {
        next = heap == &heap_retired ? heap_first() : heap->all;
        allocs += load_relaxed(&heap->large_allocs);
        frees += load_relaxed(&heap->large_frees);
        alloc_bytes += load_relaxed(&heap->large_alloc_bytes);
        free_bytes += load_relaxed(&heap->large_free_bytes);
    }
    total->allocs += allocs;
    total->frees += frees;
    total->alloc_bytes += alloc_bytes;
    total->free_bytes += free_bytes;
    account->live_blocks += allocs - frees;
    account->live_bytes += alloc_bytes - free_bytes;
}

void account_take(struct account *account)
{
    uint64_t foreign[CLASS_COUNT] = {0};
    memset(account, 0, sizeof *account);
    foreign_cached(foreign);
    for (unsigned class = 1; class < CLASS_COUNT; class++) {
        struct account_sum sum;
        uint64_t live = 0, cached = 0, here = 0;
        class_sum(class, &sum, &live, &cached, &here);
        size_t size = class_size(class);
        account->total.allocs += sum.allocs;
        account->total.frees += sum.frees + foreign[class];
        account->total.alloc_bytes += sum.alloc_bytes;
        account->total.free_bytes += sum.free_bytes + foreign[class] * size;
        account->live_blocks += live - foreign[class];
        account->live_bytes += (live - foreign[class]) * size;
        account->cached_bytes += (cached + foreign[class]) * size;
        account->fragmented_bytes += here * size;
    }
    large_sum(account);
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        account->dirty_bytes += pages_of[pool].dirty_units << UNIT_SHIFT;
        account->returned_bytes += pages_of[pool].returned_units << UNIT_SHIFT;
    }
    account->metadata_bytes = arena_tables_resident();
    account->mapped_bytes = arena_mapped();
    account->resident_bytes = arena_resident();
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        account->heaps += load_relaxed(&heap->alive);
}

void account_thread(const struct heap *heap, struct account_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    if (heap == NULL)
        return;
    for (unsigned class = 1; class < CLASS_COUNT; class++) {
        uint64_t mallocs = heap_mallocs(heap, class), frees = heap_frees(heap, class);
        sum->allocs += mallocs;
        sum->frees += frees;
        sum->alloc_bytes += mallocs * class_size(class);
        sum->free_bytes += frees * class_size(class);
    }
    sum->allocs += heap->large_allocs + heap->watched_allocs;
    sum->frees += heap->large_frees + heap->watched_frees + heap->foreign_frees;
    sum->alloc_bytes += heap->large_alloc_bytes + heap->watched_alloc_bytes;
    sum->free_bytes += heap->large_free_bytes + heap->watched_free_bytes + heap->foreign_bytes;
    size_t foreign = heap_cached(heap, BIN_FOREIGN);
    for (size_t i = 1; i <= foreign; i++) {
        const void *block = heap->stocks[BIN_FOREIGN]->slots[i];
        sum->frees++;
        sum->free_bytes += class_size(mark_class(span_of(block)->mark));
    }
}
