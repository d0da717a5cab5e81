/* SPDX-License-Identifier: MIT */
/* See lib/alloc/account.h. */
#include "lib/alloc/account.h"

#include <string.h>

#include "lib/alloc/outside.h"

/* A bin's numbers, read while its thread may exchange the stock: again until it stood still. Ends:
 * no heap comes or goes meanwhile (`heap_lock`), and a stock is only exchanged for a longer one, or
 * ended once. */
static void bin_sum(const struct heap *heap, unsigned mark, uint64_t *mallocs, uint64_t *cached)
{
    for (;;) {
        uint32_t before = load_acquire(&heap->stocks[mark]);
        uint64_t made = heap_mallocs(heap, mark), here = heap_cached(heap, mark);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (load_relaxed(&heap->stocks[mark]) == before) {
            *mallocs += made;
            *cached += here;
            return;
        }
    }
}

/* How many marks a class has, one a colour. */
static unsigned colours_of(unsigned class)
{
    return class <= TINY_CLASSES ? COLOURS : 1;
}

static void class_sum(unsigned class, struct account_sum *sum, uint64_t *live, uint64_t *cached,
                      uint64_t *here)
{
    uint64_t out = 0, in_bins = 0, mallocs = heap_retired_mallocs(class);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        for (unsigned colour = 0; colour < colours_of(class); colour++)
            bin_sum(heap, mark_make(class, colour), &mallocs, &in_bins);
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        if (central_peek(pool, 0) == NULL)
            continue;
        for (unsigned colour = 0; colour < colours_of(class); colour++) {
            const struct central *central = central_peek(pool, mark_make(class, colour));
            out += load_relaxed(&central->out);
            *here += load_relaxed(&central->here);
            mallocs += load_relaxed(&central->direct);
        }
        const struct central *watched = central_peek(pool, CENTRAL_WATCHED + class);
        out += load_relaxed(&watched->out);
        *here += load_relaxed(&watched->here);
        mallocs += load_relaxed(&watched->direct);
    }
    *live = out > in_bins ? out - in_bins : 0; /* blocks may be on their way meanwhile */
    *cached = in_bins;
    sum->allocs = mallocs;
    sum->frees = mallocs - *live;
    sum->alloc_bytes = mallocs * class_size(class);
    sum->free_bytes = sum->frees * class_size(class);
}

void account_class(unsigned class, struct account_sum *sum)
{
    uint64_t live = 0, cached = 0, here = 0;
    lock_take(&heap_lock); /* no heap ends meanwhile and is counted twice or not at all */
    class_sum(class, sum, &live, &cached, &here);
    lock_give(&heap_lock);
}

static void sums_add(struct account_sum *to, const struct heap_sums *sums)
{
    to->allocs += load_relaxed(&sums->allocs);
    to->frees += load_relaxed(&sums->frees);
    to->alloc_bytes += load_relaxed(&sums->alloc_bytes);
    to->free_bytes += load_relaxed(&sums->free_bytes);
}

static void large_sum(struct account *account)
{
    struct account_sum large = {0};
    sums_add(&large, &heap_retired_large);
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        sums_add(&large, &heap->large);
    account->total.allocs += large.allocs;
    account->total.frees += large.frees;
    account->total.alloc_bytes += large.alloc_bytes;
    account->total.free_bytes += large.free_bytes;
    account->live_blocks += large.allocs - large.frees;
    account->live_bytes += large.alloc_bytes - large.free_bytes;
}

void account_take(struct account *account)
{
    memset(account, 0, sizeof *account);
    lock_take(&heap_lock); /* no heap ends meanwhile and is counted twice or not at all */
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct account_sum sum;
        uint64_t live = 0, cached = 0, here = 0;
        class_sum(class, &sum, &live, &cached, &here);
        size_t size = class_size(class);
        account->total.allocs += sum.allocs;
        account->total.frees += sum.frees;
        account->total.alloc_bytes += sum.alloc_bytes;
        account->total.free_bytes += sum.free_bytes;
        account->live_blocks += live;
        account->live_bytes += live * size;
        account->cached_bytes += cached * size;
        account->fragmented_bytes += here * size;
    }
    large_sum(account);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        account->heaps += load_relaxed(&heap->alive);
    lock_give(&heap_lock);
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        account->dirty_bytes += load_relaxed(&pages_of[pool].dirty_units) << UNIT_SHIFT;
        account->returned_bytes += load_relaxed(&pages_of[pool].returned_units) << UNIT_SHIFT;
    }
    account->metadata_bytes = arena_tables_resident();
    account->mapped_bytes = arena_mapped() + outside_mapped();
    account->resident_bytes = arena_resident() + outside_resident();
}

void account_thread(const struct heap *heap, struct account_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    if (heap == NULL)
        return;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        if (heap->stocks[mark] == 0)
            continue;
        uint64_t mallocs = heap_mallocs(heap, mark), frees = heap_frees(heap, mark);
        sum->allocs += mallocs;
        sum->frees += frees;
        sum->alloc_bytes += mallocs * class_size(mark_class(mark));
        sum->free_bytes += frees * class_size(mark_class(mark));
    }
    sums_add(sum, &heap->large);
}
