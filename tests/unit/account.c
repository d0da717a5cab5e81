/* SPDX-License-Identifier: MIT */
/*
 * Accounting against a shadow that counts: equal at any moment of a single thread, by thread and by
 * class, equal again when other threads have been joined, monotonic while they run, and over all
 * pools.
 */
#include "lib/alloc/account.h"

#include "tests/unit/unit.h"

#include "base/os.h"

enum { HELD = 2000, THREADS = 4 };

struct shadow {
    uint64_t allocs, frees, alloc_bytes, free_bytes;
};

static struct shadow all, classes[CLASS_COUNT];

static void count(struct shadow *shadow, size_t bytes, bool freed)
{
    __atomic_fetch_add(freed ? &shadow->frees : &shadow->allocs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(freed ? &shadow->free_bytes : &shadow->alloc_bytes, bytes, __ATOMIC_RELAXED);
}

static bool same(const struct account_sum *sum, const struct shadow *shadow)
{
    return sum->allocs == shadow->allocs && sum->frees == shadow->frees &&
           sum->alloc_bytes == shadow->alloc_bytes && sum->free_bytes == shadow->free_bytes;
}

static void account_equals_the_shadow(void)
{
    struct account account;
    account_take(&account);
    assert(same(&account.total, &all));
    assert(account.live_blocks == all.allocs - all.frees);
    assert(account.live_bytes == all.alloc_bytes - all.free_bytes);
    assert(account_live_now() == account.live_bytes);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct account_sum sum;
        account_class(class, &sum);
        assert(same(&sum, &classes[class]));
    }
}

struct held {
    void *block;
    unsigned class;
};

/* One random step: a block more or a block less, small or large. */
static void step(struct heap *heap, struct held *held, uint64_t *random, struct shadow *mine)
{
    struct held *slot = &held[unit_random(random) % HELD];
    bool freed = slot->block != NULL;
    if (!freed && unit_random(random) % 50 == 0) {
        bool zero;
        slot->block = large_take(heap->pool, 40000 + unit_random(random) % 100000, GRANULE, &zero);
        slot->class = 0;
    } else if (!freed) {
        slot->class = 1 + (unsigned)(unit_random(random) % 30);
        slot->block = unit_malloc(heap, slot->class);
    }
    assert(slot->block != NULL);
    size_t bytes = slot->class == 0 ? large_size(span_of(slot->block)) : class_size(slot->class);
    count(&all, bytes, freed);
    count(mine, bytes, freed);
    if (slot->class != 0)
        count(&classes[slot->class], bytes, freed);
    if (slot->class == 0) { /* as cold.c counts them */
        store_relaxed(&heap->large.allocs, heap->large.allocs + !freed);
        store_relaxed(&heap->large.alloc_bytes, heap->large.alloc_bytes + !freed * bytes);
        store_relaxed(&heap->large.frees, heap->large.frees + freed);
        store_relaxed(&heap->large.free_bytes, heap->large.free_bytes + freed * bytes);
    }
    if (!freed)
        return;
    if (slot->class == 0)
        large_give(span_of(slot->block));
    else
        unit_free(heap, slot->block);
    slot->block = NULL;
}

static void one_thread_is_exact(unsigned pool)
{
    static struct held held[HELD];
    struct shadow mine = {0};
    uint64_t random = 5 + pool;
    struct heap *heap = unit_heap(3, pool);
    for (unsigned i = 0; i < unit_times(100000); i++) {
        step(heap, held, &random, &mine);
        if (i % 1000 == 0) {
            struct account_sum sum;
            account_thread(heap, &sum);
            assert(same(&sum, &mine));
            account_equals_the_shadow();
        }
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i].block != NULL && held[i].class != 0) {
            count(&all, class_size(held[i].class), true);
            count(&classes[held[i].class], class_size(held[i].class), true);
            unit_free(heap, held[i].block);
            held[i].block = NULL;
        }
    heap_end(heap);
    account_equals_the_shadow();
}

static void *work(void *argument)
{
    static struct held helds[THREADS][HELD];
    uintptr_t self = (uintptr_t)argument;
    struct shadow mine = {0};
    uint64_t random = self + 100;
    struct heap *heap = unit_heap((unsigned)self, self % 2 == 0 ? 0 : 2);
    for (unsigned i = 0; i < unit_times(60000); i++)
        step(heap, helds[self], &random, &mine);
    struct account_sum sum;
    account_thread(heap, &sum);
    assert(same(&sum, &mine));
    heap_end(heap);
    return NULL;
}

static void *look(void *stop)
{
    uint64_t before = 0;
    while (!load_acquire((uint32_t *)stop)) {
        struct account_sum sum;
        account_class(7, &sum);
        (void)sum;
        struct account account;
        account_take(&account);
        assert(account.mapped_bytes >= before);
        before = account.mapped_bytes;
    }
    return NULL;
}

static void joined_threads_add_up(void)
{
    pthread_t threads[THREADS], looker;
    uint32_t stop = 0;
    assert(pthread_create(&looker, NULL, look, &stop) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
    store_release(&stop, 1);
    pthread_join(looker, NULL);
    account_equals_the_shadow();
}

static void blocks_past_the_bins_are_counted(void)
{
    void *blocks[] = {central_take_one(0, class_of(200)),
                      central_take_one(4, CENTRAL_WATCHED + class_of(200))};
    for (int i = 0; i < 2; i++) {
        count(&all, class_size(class_of(200)), false);
        count(&classes[class_of(200)], class_size(class_of(200)), false);
    }
    account_equals_the_shadow();
    central_give(blocks, 2);
    for (int i = 0; i < 2; i++) {
        count(&all, class_size(class_of(200)), true);
        count(&classes[class_of(200)], class_size(class_of(200)), true);
    }
    account_equals_the_shadow();
}

static void bytes_have_a_place(void)
{
    struct account account, after;
    heap_drop_parked(os_now_ms(), 0);
    struct heap *heap = unit_heap(0, 0);
    alloc_purge(SIZE_MAX);
    account_take(&account);
    assert(account.dirty_bytes == 0 && account.cached_bytes == 0 && account.heaps == 1);
    assert(account.mapped_bytes >= account.resident_bytes);
    assert(account.resident_bytes >= account.metadata_bytes && account.metadata_bytes > 0);
    unit_free(heap, unit_malloc(heap, class_of(100)));
    bool zero;
    void *block = large_take(0, 1 << 20, GRANULE, &zero);
    memset(block, 1, 1 << 20);
    large_give(span_of(block));
    account_take(&after);
    assert(after.dirty_bytes == 1 << 20);
    assert(after.cached_bytes == heap_cached(heap, class_of(100)) * 112);
    assert(after.resident_bytes >= account.resident_bytes + (1 << 20));
    alloc_purge(SIZE_MAX);
    account_take(&account);
    assert(account.dirty_bytes == 0);
    assert(account.returned_bytes == after.returned_bytes + (1 << 20));
    assert(account.resident_bytes + (1 << 20) <= after.resident_bytes);
    count(&all, 112, false);
    count(&all, 112, true);
    heap_end(heap);
}

/* Within an eighth, or 256 KiB. */
static bool near(uint64_t a, uint64_t b)
{
    uint64_t apart = a > b ? a - b : b - a, max = (a > b ? a : b) / 8;
    return apart <= (max > (256 << 10) ? max : 256 << 10);
}

/* What the counters say is in memory against what the kernel says, with all blocks written to. */
static void counters_are_near_the_kernel(void)
{
    enum { MORE = 16 << 20, SIZES = 5 };
    static const size_t sizes[SIZES] = {16, 48, 200, 1000, 20000};
    struct heap *heap = unit_heap(0, 0);
    struct account start, start_asked, counted, asked;
    account_take(&start);
    start_asked = start;
    account_ask_kernel(&start_asked, true);
    for (unsigned i = 0; i < SIZES; i++) {
        for (size_t bytes = 0; bytes < MORE; bytes += sizes[i])
            memset(unit_malloc(heap, class_of(sizes[i])), 1, sizes[i]);
        account_take(&counted);
        asked = counted;
        account_ask_kernel(&asked, true);
        assert(near(counted.resident_bytes - start.resident_bytes,
                    asked.resident_bytes - start_asked.resident_bytes));
        assert(near(counted.metadata_bytes - start.metadata_bytes,
                    asked.metadata_bytes - start_asked.metadata_bytes));
        assert(asked.live_bytes == counted.live_bytes);
    }
    heap_end(heap);
}

static void a_wrong_shadow_is_noticed(void)
{
    struct account account;
    account_take(&account);
    assert(same(&account.total, &all));
    all.frees++;
    assert(!same(&account.total, &all));
}

int main(void)
{
    unit_start();
    one_thread_is_exact(0);
    one_thread_is_exact(3); /* with pools 1 and 2 never used */
    joined_threads_add_up();
    blocks_past_the_bins_are_counted();
    bytes_have_a_place();
    a_wrong_shadow_is_noticed();
    counters_are_near_the_kernel();
    return 0;
}
