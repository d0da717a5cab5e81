/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/account.h. All sums walk the same two things, the lists of the centres and the bins
 * of all heaps, and differ in what they add up: one class, all classes, or a total. So the walks
 * are inline functions that take an adder. No lock is taken: other threads go on meanwhile.
 */
#include "lib/alloc/account.h"

#include <string.h>

#include "lib/alloc/delay.h"
#include "lib/alloc/held.h"
#include "lib/alloc/large.h"
#include "lib/alloc/lent.h"
#include "lib/alloc/outside.h"
#include "lib/alloc/owner.h"
#include "lib/alloc/spare.h"

/* Blocks of one class, by where they are. */
struct __attribute__((may_alias)) blocks {
    uint64_t mallocs; /* that ever were */
    uint64_t out;     /* in bins or with the program */
    uint64_t cached;  /* in bins */
    uint64_t here;    /* free in spans */
};

/* Adds blocks of a class to a sum. */
typedef void adder(void *sum, unsigned class, const struct blocks *more);

/* By class: blocks that no span has, which were allocated and freed; and bytes of large ones. */
static struct {
    uint64_t allocs, frees;
} elsewhere[CLASS_COUNT];
static uint64_t elsewhere_large;

struct bin {
    uint64_t mallocs, cached;
};

INLINE void count_all(adder *add, void *sum, struct account_sum *large);
INLINE void each_list(adder *add, void *sum);
INLINE void each_bin(adder *add, void *sum);
RACY static struct bin bin_read(const struct heap *heap, unsigned mark);
INLINE void each_owner(adder *add, void *sum);
static void sums_add(struct account_sum *to, const struct heap_sums *sums);
INLINE void add_to_class(void *sum, unsigned class, const struct blocks *more);
static struct account_sum sum_of(const struct blocks *blocks, unsigned class);
RACY static uint64_t taken_read(const struct heap *heap, unsigned mark);
static void add_lent(struct account *account);

void account_class(unsigned class, struct account_sum *sum)
{
    struct blocks blocks[CLASS_COUNT] = {0};
    struct account_sum large;
    count_all(add_to_class, blocks, &large);
    *sum = sum_of(&blocks[class], class);
}

/* Counts everything: classes by `add`, large blocks into `large`. */
INLINE void count_all(adder *add, void *sum, struct account_sum *large)
{
    memset(large, 0, sizeof *large);
    lock_take(&heap_lock); /* no heap ends meanwhile and is counted twice or not at all */
    each_list(add, sum);
    each_bin(add, sum);
    each_owner(add, sum);
    sums_add(large, &heap_retired_large);
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        sums_add(large, &heap->large);
    lock_give(&heap_lock);
}

INLINE void each_list(adder *add, void *sum)
{
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        uint64_t frees = load_relaxed(&elsewhere[class].frees);
        uint64_t allocs = load_relaxed(&elsewhere[class].allocs);
        struct blocks more = {.mallocs = allocs, .out = allocs - frees};
        if (unlikely((allocs | frees) != 0))
            add(sum, class, &more);
    }
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        const struct central *all = central_peek(pool, 0);
        for (unsigned list = 1; all != NULL && list < CENTRAL_COUNT; list++) {
            const struct central *central = &all[list];
            unsigned mark = list < CENTRAL_WATCHED ? list : list - CENTRAL_WATCHED;
            if (mark == MARK_FREE || mark == MARK_LARGE || mark == MARK_WATCHED)
                continue; /* no list has them */
            struct blocks more = {.out = load_relaxed(&central->out),
                                  .here = load_relaxed(&central->here),
                                  .mallocs = load_relaxed(&central->direct)};
            if (more.out + more.here + more.mallocs != 0)
                add(sum, mark_class(mark), &more);
        }
    }
}

INLINE void each_bin(adder *add, void *sum)
{
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++) {
            uint64_t bits = load_acquire(&heap->stocked[word]);
            for (; bits != 0; bits &= bits - 1) {
                unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
                unsigned class = mark_class(mark);
                struct bin bin = bin_read(heap, mark);
                struct blocks more = {.mallocs = bin.mallocs, .cached = bin.cached};
                if (class >= SPARE_FIRST)
                    more.cached += spare_count(heap, mark);
                add(sum, class, &more);
            }
        }
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        add(sum, class, &(struct blocks){.mallocs = heap_retired_mallocs(class)});
}

/* A bin's numbers, read while its thread may exchange the stock: again until it stood still. Ends:
 * no heap comes or goes meanwhile (`heap_lock`), and a stock is only exchanged for a longer one, or
 * ended once. */
RACY static struct bin bin_read(const struct heap *heap, unsigned mark)
{
    for (;;) {
        const struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL)
            return (struct bin){0, 0};
        int32_t left = load_relaxed(&heap->clock[mark]);
        uint64_t mallocs = load_relaxed(&stock->drawn) - (uint64_t)(left < 0 ? 0 : left);
        uint64_t count = heap_cached(heap, mark) + delay_count(heap->delay, mark);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (likely(heap_stock(heap, mark) == stock))
            return (struct bin){mallocs, count};
    }
}

/* Blocks with an owner; those in bins of fronts are `cached`. */
INLINE void each_owner(adder *add, void *sum)
{
    for (const struct owner *owner = owner_first(); owner != NULL; owner = owner->all) {
        for (unsigned list = 0; list < OWNED_LISTS; list++)
            for (unsigned class = 1; class < CLASS_COUNT; class ++) {
                const struct owned *owned = &owner->lists[list][class];
                struct blocks more = {.out = load_relaxed(&owned->out),
                                      .here = load_relaxed(&owned->here),
                                      .mallocs = load_relaxed(&owned->mallocs)};
                if (more.out + more.here + more.mallocs != 0)
                    add(sum, class, &more);
            }
        for (const struct front *front = owner->fronts; front != NULL; front = front->sibling)
            for (unsigned class = 1; class < CLASS_COUNT; class ++) {
                const struct front_bin *bin = load_acquire(&front->bins[class]);
                if (bin != NULL)
                    add(sum, class,
                        &(struct blocks){.mallocs = load_relaxed(&bin->mallocs),
                                         .cached = load_relaxed(&bin->count)});
            }
    }
}

static void sums_add(struct account_sum *to, const struct heap_sums *sums)
{
    to->allocs += load_relaxed(&sums->allocs);
    to->frees += load_relaxed(&sums->frees);
    to->alloc_bytes += load_relaxed(&sums->alloc_bytes);
    to->free_bytes += load_relaxed(&sums->free_bytes);
}

INLINE void add_to_class(void *sum, unsigned class, const struct blocks *more)
{
    struct blocks *blocks = (struct blocks *)sum + class;
    blocks->mallocs += more->mallocs;
    blocks->out += more->out;
    blocks->cached += more->cached;
    blocks->here += more->here;
}

static struct account_sum sum_of(const struct blocks *blocks, unsigned class)
{
    /* Another thread may be moving blocks meanwhile. */
    uint64_t live = blocks->out > blocks->cached ? blocks->out - blocks->cached : 0;
    uint64_t frees = blocks->mallocs > live ? blocks->mallocs - live : 0;
    size_t size = class_size(class);
    return (struct account_sum){live + frees, frees, (live + frees) * size, frees * size};
}

/* Free may come here in a signal handler with little stack: blocks are counted in the place of
 * their sums. */
void account_classes(struct account_sum classes[ACCOUNT_ROWS])
{
    _Static_assert(sizeof(struct blocks) == sizeof(struct account_sum), "one fits into the other");
    struct blocks *blocks = (struct blocks *)classes;
    memset(classes, 0, ACCOUNT_ROWS * sizeof *classes);
    count_all(add_to_class, blocks, &classes[ACCOUNT_LARGE]);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        classes[class] = sum_of(&blocks[class], class);
}

/* Live blocks of the bins: what they took from the centres, less what lies in them. Spares were not
 * taken. */
void account_past_heaps_locked(struct account_sum classes[ACCOUNT_ROWS])
{
    struct blocks *blocks = (struct blocks *)classes;
    memset(classes, 0, ACCOUNT_ROWS * sizeof *classes);
    each_list(add_to_class, blocks);
    each_owner(add_to_class, blocks);
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        for (unsigned mark = 1; mark < MARK_COUNT; mark++)
            if (heap_stock(heap, mark) != NULL)
                blocks[mark_class(mark)].cached += taken_read(heap, mark) + spare_count(heap, mark);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        uint64_t mallocs = blocks[class].mallocs + heap_retired_mallocs(class);
        int64_t frees = (int64_t)(mallocs + blocks[class].cached - blocks[class].out);
        uint64_t freed = frees > 0 ? (uint64_t)frees : 0;
        size_t size = class_size(class);
        classes[class] = (struct account_sum){mallocs, freed, mallocs * size, freed * size};
    }
    sums_add(&classes[ACCOUNT_LARGE], &heap_retired_large);
}

/* Blocks from the centre, less blocks to it. */
RACY static uint64_t taken_read(const struct heap *heap, unsigned mark)
{
    return (uint64_t)heap_stock(heap, mark)->taken;
}

static void sum_add(struct account_sum *to, const struct account_sum *more)
{
    to->allocs += more->allocs;
    to->frees += more->frees;
    to->alloc_bytes += more->alloc_bytes;
    to->free_bytes += more->free_bytes;
}

struct account_sum account_total(const struct account_sum classes[ACCOUNT_ROWS])
{
    struct account_sum total = {0};
    for (unsigned row = 0; row < ACCOUNT_ROWS; row++)
        sum_add(&total, &classes[row]);
    return total;
}

/* While blocks are on their way, a difference may be below zero: what is freed is more then. */
INLINE void add_to_total(void *sum, unsigned class, const struct blocks *more)
{
    struct account_sum *total = sum;
    uint64_t freed = more->mallocs + more->cached - more->out;
    total->allocs += more->mallocs;
    total->frees += freed;
    total->alloc_bytes += more->mallocs * class_size(class);
    total->free_bytes += freed * class_size(class);
}

struct account_sum account_now(void)
{
    struct account_sum total = {0}, large;
    count_all(add_to_total, &total, &large);
    total.frees = total.frees > total.allocs ? total.allocs : total.frees;
    total.free_bytes = total.free_bytes > total.alloc_bytes ? total.alloc_bytes : total.free_bytes;
    sum_add(&total, &large);
    return total;
}

/* No lock: heaps stay where they are, and a bin that is emptied meanwhile is seen before or after,
 * as any other. */
uint64_t account_live_now(void)
{
    uint64_t held = held_bytes(), cached = 0;
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
            for (uint64_t bits = load_relaxed(&heap->stocked[word]); bits != 0; bits &= bits - 1) {
                unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
                cached += (heap_cached(heap, mark) + delay_count(heap->delay, mark)) *
                          class_size(mark_class(mark));
            }
        cached += spares_bytes(heap);
    }
    return held > cached ? held - cached : 0;
}

/* Bytes of the tables that stand for something: heaps, stocks and records; spans; the units of
 * `pages` bytes; the live bytes of all blocks. */
static uint64_t tables_in_use(const struct blocks blocks[CLASS_COUNT], uint64_t pages)
{
    uint64_t bytes = meta_used() + (uint64_t)span_count() * sizeof(struct span);
    bytes += (pages >> UNIT_SHIFT) * (sizeof *window.kinds + sizeof *window.units);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        uint64_t spans = (blocks[class].out + blocks[class].here) * class_size(class);
        bytes += spans >> live_shift(window.live[class]);
    }
    return bytes;
}

void account_take(struct account *account)
{
    struct blocks blocks[CLASS_COUNT] = {0};
    memset(account, 0, sizeof *account);
    count_all(add_to_class, blocks, &account->classes[ACCOUNT_LARGE]);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        account->classes[class] = sum_of(&blocks[class], class);
        account->free[class].cached = blocks[class].cached;
        account->free[class].here = blocks[class].here;
        account->cached_bytes += blocks[class].cached * class_size(class);
        account->fragmented_bytes += blocks[class].here * class_size(class);
    }
    account->total = account_total(account->classes);
    account->live_blocks = account_live(&account->total);
    account->live_bytes = account_live_bytes(&account->total);
    account->heaps = heap_threads();
    uint64_t used_bytes = 0;
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        used_bytes += load_relaxed(&pages_of[pool].used_units) << UNIT_SHIFT;
        account->dirty_bytes += load_relaxed(&pages_of[pool].dirty_units) << UNIT_SHIFT;
        account->clean_bytes += load_relaxed(&pages_of[pool].clean_units) << UNIT_SHIFT;
        account->returned_bytes += load_relaxed(&pages_of[pool].returned_units) << UNIT_SHIFT;
    }
    account->metadata_bytes = tables_in_use(blocks, used_bytes + account->dirty_bytes);
    account->mapped_bytes = arena_mapped() + outside_mapped();
    account->resident_bytes =
        used_bytes + account->dirty_bytes + account->metadata_bytes + outside_mapped();
    add_lent(account);
}

/* Memory that the program lends is part of the heap while blocks lie in it, or while it waits for
 * blocks. */
static void add_lent(struct account *account)
{
    uint64_t active = load_relaxed(&lent_all.active_bytes);
    uint64_t live = load_relaxed(&lent_all.live_bytes);
    uint64_t dirty = load_relaxed(&lent_all.dirty_bytes);
    uint64_t retained = load_relaxed(&lent_all.retained_bytes);
    account->fragmented_bytes += active > live ? active - live : 0;
    account->dirty_bytes += dirty;
    account->clean_bytes += retained;
    account->mapped_bytes += active + dirty + retained;
    account->resident_bytes += active + dirty;
}

static uint64_t less(uint64_t from, uint64_t value)
{
    return from > value ? from - value : 0;
}

void account_move_lent(struct account_sum classes[ACCOUNT_ROWS])
{
    struct account_sum *large = &classes[ACCOUNT_LARGE];
    for (unsigned class = 1; lent_any() && class < CLASS_COUNT; class ++) {
        uint64_t allocs = load_relaxed(&lent_all.allocs[class]), size = class_size(class);
        uint64_t frees = load_relaxed(&lent_all.frees[class]);
        struct account_sum *row = &classes[class];
        *row =
            (struct account_sum){row->allocs + allocs, row->frees + frees,
                                 row->alloc_bytes + allocs * size, row->free_bytes + frees * size};
        *large = (struct account_sum){less(large->allocs, allocs), less(large->frees, frees),
                                      less(large->alloc_bytes, allocs * size),
                                      less(large->free_bytes, frees * size)};
    }
}

static struct account_apart apart;

void account_add_apart(const struct account_apart *added)
{
    apart = *added;
}

void account_ask_kernel(struct account *account, bool waits)
{
    enum { PARTS_MAX = 2048 }; /* of 4 MiB: all of a heap up to 8 GiB */
    size_t max = waits ? OS_ALL_PARTS : PARTS_MAX;
    account->metadata_bytes = arena_tables_resident(max);
    account->resident_bytes = arena_resident(max) + outside_resident(max) + lent_resident(max);
    if (apart.blocks != NULL) {
        account->metadata_bytes += apart.tables(max);
        account->resident_bytes += apart.blocks(max);
    }
    account->resident_bytes += account->metadata_bytes;
}

void account_elsewhere(unsigned class, size_t usable, bool begins)
{
    held_add(begins ? usable : -(uint64_t)usable);
    uint64_t *counter =
        begins ? &elsewhere[class % CLASS_COUNT].allocs : &elsewhere[class % CLASS_COUNT].frees;
    if (class == CLASS_COUNT)
        __atomic_fetch_add(&elsewhere_large, begins ? usable : -(uint64_t)usable, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

void account_detained(unsigned class, size_t usable, bool begins)
{
    uint64_t *bytes = class == CLASS_COUNT ? &elsewhere_large : NULL;
    held_add(begins ? -(uint64_t)usable : usable);
    if (bytes != NULL)
        __atomic_fetch_add(bytes, begins ? -(uint64_t)usable : usable, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&elsewhere[class].frees, begins ? 1 : -UINT64_C(1), __ATOMIC_RELAXED);
}

struct held_counter held_counter;

void held_recover(void)
{
    uint64_t bytes = load_relaxed(&elsewhere_large);
    struct blocks blocks[CLASS_COUNT] = {0};
    each_list(add_to_class, blocks);
    each_owner(add_to_class, blocks);
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
        if (heap->slots[mark] == NULL)
            continue;
        uint64_t mallocs = heap_mallocs(heap, mark), frees = heap_frees(heap, mark);
        sum->allocs += mallocs;
        sum->frees += frees;
        sum->alloc_bytes += mallocs * class_size(mark_class(mark));
        sum->free_bytes += frees * class_size(mark_class(mark));
    }
    sums_add(sum, &heap->large);
}

bool account_other_thread(const struct heap *heap, uint32_t tid, struct account_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    lock_take(&heap_lock); /* the heap does not end meanwhile */
    bool known = load_acquire(&heap->alive) && !heap->inherited &&
                 load_relaxed(&heap->tid) == tid && load_relaxed(&heap->fronts) == NULL;
    for (unsigned mark = 1; known && mark < MARK_COUNT; mark++) {
        uint64_t mallocs = bin_read(heap, mark).mallocs;
        sum->allocs += mallocs;
        sum->alloc_bytes += mallocs == 0 ? 0 : mallocs * class_size(mark_class(mark));
    }
    sums_add(sum, &heap->large);
    sums_add(sum, &heap->past);
    lock_give(&heap_lock);
    return known;
}
