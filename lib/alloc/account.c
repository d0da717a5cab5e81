/* SPDX-License-Identifier: MIT */
/* See lib/alloc/account.h. */
#include "lib/alloc/account.h"

#include <string.h>

#include "lib/alloc/held.h"
#include "lib/alloc/large.h"

/* A bin's numbers, read while its thread may exchange the stock: again until it stood still. */
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

/* Blocks of one class, by where they are. */
struct blocks {
    uint64_t mallocs; /* that ever were */
    uint64_t out;     /* in bins or with the program */
    uint64_t cached;  /* in bins */
    uint64_t here;    /* free in spans */
};

static void count_centres(struct blocks blocks[CLASS_COUNT])
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        if (central_peek(pool, 0) == NULL)
            continue;
        for (unsigned list = 1; list < CENTRAL_COUNT; list++) {
            const struct central *central = central_peek(pool, list);
            unsigned mark = list < CENTRAL_WATCHED ? list : list - CENTRAL_WATCHED;
            struct blocks *of = &blocks[mark_class(mark)];
            if (mark == MARK_LARGE || mark == MARK_WATCHED)
                continue; /* no list has them */
            of->out += load_relaxed(&central->out);
            of->here += load_relaxed(&central->here);
            of->mallocs += load_relaxed(&central->direct);
        }
    }
}

static void count_heaps(struct blocks blocks[CLASS_COUNT])
{
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
            if (load_relaxed(&heap->stocks[mark]) == 0)
                continue;
            struct blocks *of = &blocks[mark_class(mark)];
            bin_sum(heap, mark, &of->mallocs, &of->cached);
        }
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        blocks[class].mallocs += heap_retired_mallocs(class);
}

static void sums_add(struct account_sum *to, const struct heap_sums *sums)
{
    to->allocs += load_relaxed(&sums->allocs);
    to->frees += load_relaxed(&sums->frees);
    to->alloc_bytes += load_relaxed(&sums->alloc_bytes);
    to->free_bytes += load_relaxed(&sums->free_bytes);
}

static void count_all(struct blocks blocks[CLASS_COUNT], struct account_sum *large)
{
    memset(blocks, 0, CLASS_COUNT * sizeof *blocks);
    memset(large, 0, sizeof *large);
    lock_take(&heap_lock); /* no heap ends meanwhile and is counted twice or not at all */
    count_centres(blocks);
    count_heaps(blocks);
    sums_add(large, &heap_retired_large);
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        sums_add(large, &heap->large);
    lock_give(&heap_lock);
}

static struct account_sum sum_of(const struct blocks *blocks, unsigned class)
{
    /* Blocks may be on their way meanwhile. */
    uint64_t live = blocks->out > blocks->cached ? blocks->out - blocks->cached : 0;
    uint64_t frees = blocks->mallocs > live ? blocks->mallocs - live : 0;
    size_t size = class_size(class);
    return (struct account_sum){live + frees, frees, (live + frees) * size, frees * size};
}

void account_class(unsigned class, struct account_sum *sum)
{
    struct blocks blocks[CLASS_COUNT];
    struct account_sum large;
    count_all(blocks, &large);
    *sum = sum_of(&blocks[class], class);
}

void account_classes(struct account_sum classes[ACCOUNT_ROWS])
{
    struct blocks blocks[CLASS_COUNT];
    count_all(blocks, &classes[ACCOUNT_LARGE]);
    classes[0] = (struct account_sum){0};
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        classes[class] = sum_of(&blocks[class], class);
}

struct account_sum account_total(const struct account_sum classes[ACCOUNT_ROWS])
{
    struct account_sum total = {0};
    for (unsigned row = 0; row < ACCOUNT_ROWS; row++) {
        total.allocs += classes[row].allocs;
        total.frees += classes[row].frees;
        total.alloc_bytes += classes[row].alloc_bytes;
        total.free_bytes += classes[row].free_bytes;
    }
    return total;
}

void account_take(struct account *account)
{
    struct blocks blocks[CLASS_COUNT];
    memset(account, 0, sizeof *account);
    count_all(blocks, &account->classes[ACCOUNT_LARGE]);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        account->classes[class] = sum_of(&blocks[class], class);
        account->cached_bytes += blocks[class].cached * class_size(class);
        account->fragmented_bytes += blocks[class].here * class_size(class);
    }
    account->total = account_total(account->classes);
    account->live_blocks = account_live(&account->total);
    account->live_bytes = account_live_bytes(&account->total);
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        account->heaps += load_relaxed(&heap->alive);
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        account->dirty_bytes += load_relaxed(&pages_of[pool].dirty_units) << UNIT_SHIFT;
        account->returned_bytes += load_relaxed(&pages_of[pool].returned_units) << UNIT_SHIFT;
    }
    account->metadata_bytes = arena_tables_resident();
    account->mapped_bytes = arena_mapped();
    account->resident_bytes = arena_resident();
}

struct held_counter held_counter;

void held_recover(void)
{
    uint64_t bytes = 0;
    struct blocks blocks[CLASS_COUNT] = {0};
    count_centres(blocks);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        bytes += blocks[class].out * class_size(class);
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++)
        if (span_at(id)->state == SPAN_LARGE)
            bytes += large_size(span_at(id));
    store_relaxed(&held_counter.bytes, bytes);
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
