/* SPDX-License-Identifier: MIT */
/*
 * Heaps: bins fill, overflow, grow and go home without losing or doubling a block, stay within the
 * option's cap, share it evenly, and hold less where there are many threads; clocks count every
 * malloc, ended heaps are used again, idle bins are emptied, and no change of mode is lost on the
 * way to a thread.
 */
#include "lib/alloc/heap.h"

#include <sched.h>

#include "tests/unit/unit.h"

#include "base/os.h"
#include "lib/alloc/account.h"
#include "lib/alloc/bin.h"

enum { HELD = 3000, THREADS = 4 };

static size_t out_of(unsigned class, unsigned colour)
{
    const struct central *central = central_peek(0, mark_make(class, colour));
    return load_relaxed(&central->out);
}

static void bins_fill_and_go_home(void)
{
    static char *held[HELD];
    struct heap *heap = unit_heap(0, 0);
    assert(heap != NULL && heap == heap_self && heap->alive && heap_first() == heap);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        unsigned count = class_size(class) > 1024 ? 100 : HELD;
        for (unsigned i = 0; i < count; i++) {
            held[i] = unit_malloc(heap, class);
            assert(held[i] != NULL);
            unit_fill(held[i], class_size(class), i);
        }
        assert(out_of(class, 0) == count + heap_cached(heap, class));
        for (unsigned i = 0; i < count; i++) {
            assert(unit_filled(held[i], class_size(class), i));
            unit_free(heap, held[i]);
        }
        assert(heap_mallocs(heap, class) == count && heap_frees(heap, class) == count);
        assert(out_of(class, 0) == heap_cached(heap, class) && heap_cached(heap, class) > 0);
    }
    heap_flush(heap);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        assert(heap_cached(heap, class) == 0 && out_of(class, 0) == 0);
    heap_end(heap);
    assert(heap_self == NULL && !heap->alive && unit_faults() == 0);
}

static size_t bytes_cached(const struct heap *heap)
{
    size_t sum = 0;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        if (heap_stock(heap, mark) != NULL)
            sum += heap_cached(heap, mark) * class_size(mark_class(mark));
    return sum;
}

/* Swings wide enough that every bin wants to grow. Returns the most that was cached. */
static size_t swing(struct heap *heap)
{
    static void *held[HELD];
    size_t max = 0;
    for (int round = 0; round < 6; round++)
        for (unsigned class = 1; class <= CLASS_PAGED_LAST; class += 3) {
            unsigned count = class_size(class) > 1024 ? 100 : 1000;
            for (unsigned i = 0; i < count; i++)
                held[i] = unit_malloc(heap, class);
            for (unsigned i = 0; i < count; i++)
                unit_free(heap, held[i]);
            size_t now = bytes_cached(heap);
            max = now > max ? now : max;
            assert(now <= heap->cache_bytes);
        }
    return max;
}

static void bins_stay_within_the_cap(void)
{
    /* Two small blocks and one of each larger class are the least a heap can work with. */
    size_t min = 0, before = 0;
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        min += 3 * (class_size(class) < 32 << 10 ? class_size(class) : 1);
    static const size_t caps[] = {0, 256 << 10, 1 << 20, 16 << 20};
    heap_drop_parked(0, 0); /* they were made under another cap */
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        config.cache = caps[i];
        struct heap *heap = unit_heap(0, 0);
        size_t max = swing(heap);
        assert(max <= caps[i] + min && heap->cache_bytes <= caps[i] + min);
        assert(max > before); /* and the cap is what held it down */
        before = max;
        heap_end(heap);
    }
    config_defaults(&config);
}

/* Allocates `count` blocks and frees them, again and again. */
static void swing_class(struct heap *heap, unsigned class, unsigned count, int rounds)
{
    static void *held[HELD];
    for (int round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < count; i++)
            assert((held[i] = unit_malloc(heap, class)) != NULL);
        for (unsigned i = 0; i < count; i++)
            unit_free(heap, held[i]);
    }
}

/* A bin that took all of the allowance makes room for others, in which as much comes and goes. */
static void bins_even_out(void)
{
    enum { FIRST = CLASS_COUNT - 3, ROUNDS = 100, BLOCKS = 64 };
    config.cache = 2 << 20;
    heap_drop_parked(0, 0);
    struct heap *heap = unit_heap(0, 0);
    swing_class(heap, FIRST, BLOCKS, ROUNDS);
    unsigned alone = heap_stock(heap, FIRST)->cap;
    assert(alone >= BLOCKS / 2);
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned class = FIRST; class < CLASS_COUNT; class ++)
            swing_class(heap, class, BLOCKS, 1);
    unsigned low = alone, high = 0;
    for (unsigned class = FIRST; class < CLASS_COUNT; class ++) {
        const struct stock *stock = heap_stock(heap, class);
        low = stock->cap < low ? stock->cap : low;
        high = stock->cap > high ? stock->cap : high;
        assert(stock->batch <= stock->cap && heap_cached(heap, class) <= stock->cap);
        assert(heap->limit[class] == stock->cap);
    }
    assert(heap->cache_bytes <= config.cache && high <= 2 * low);
    heap_end(heap);
    config_defaults(&config);
}

/* The bins of one thread in a crowd hold less than those of a thread that is alone. */
static void bins_of_many_threads_hold_less(void)
{
    enum { MANY = 1280 };
    static struct heap *heaps[MANY];
    size_t alone = 0, crowded = 0;
    heap_drop_parked(0, 0);
    for (unsigned i = 0; i < MANY; i++) {
        assert((heaps[i] = unit_heap(0, 0)) != NULL);
        if (i == 0)
            alone = swing(heaps[0]);
        if (i == MANY - 1)
            crowded = swing(heaps[i]);
    }
    assert(heap_threads() == MANY);
    assert(crowded > 0 && crowded < alone / 2);
    for (unsigned i = 0; i < MANY; i++)
        heap_end(heaps[i]);
    heap_drop_parked(0, 0);
}

/* Random waits, some of them cut short by another, against a count. */
static void clocks_count_every_malloc(void)
{
    static void *held[HELD];
    heap_drop_parked(os_now_ms(), 0); /* they have colours of their own */
    struct heap *heap = unit_heap(2, 0);
    uint64_t random = 3, count[CLASS_COUNT] = {0}, rings = 0;
    unsigned top = 0;
    for (unsigned i = 0; i < unit_times(300000); i++) {
        unsigned class = 1 + (unsigned)(unit_random(&random) % 20), mark = mark_make(class, 2);
        if (unit_random(&random) % 2 == 0 && top > 0) {
            unit_free(heap, held[--top]);
        } else if (top < HELD) {
            held[top++] = unit_malloc(heap, class);
            count[class]++;
        }
        if (unit_random(&random) % 64 == 0 && heap_stock(heap, mark) != NULL) {
            uint64_t wait =
                unit_random(&random) % 3 == 0 ? UINT64_MAX : unit_random(&random) % 3000;
            heap_set_clock(heap, mark, wait);
            rings++;
        }
        assert(heap_mallocs(heap, mark) == count[class]);
    }
    assert(rings > 0);
    while (top > 0)
        unit_free(heap, held[--top]);
    for (unsigned class = 1; class <= 20; class ++)
        assert(heap_mallocs(heap, mark_make(class, 2)) == count[class] &&
               heap_frees(heap, mark_make(class, 2)) == count[class]);
    uint64_t retired[CLASS_COUNT];
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        retired[class] = heap_retired_mallocs(class);
    heap_end(heap);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        assert(heap_retired_mallocs(class) == retired[class] + count[class]);
}

/* After a wait of n blocks exactly n mallocs pass before the end is told. */
static void clocks_end_when_they_should(void)
{
    static const uint64_t waits[] = {0, 1, 2, 511, 512, 513, 5000};
    struct heap *heap = unit_heap(0, 0);
    unsigned mark = class_of(128);
    unit_free(heap, unit_malloc(heap, mark));
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        uint64_t passed = 0;
        heap_set_clock(heap, mark, waits[i]);
        assert(heap_stock(heap, mark)->armed);
        for (;;) {
            void *block = unit_pop(heap, mark);
            if (block != NULL) {
                passed++;
                unit_free(heap, block);
            } else if (heap->clock[mark] >= 0) {
                assert(heap_refill(heap, mark));
            } else if (heap_clock_over(heap, mark)) {
                break;
            }
        }
        assert(passed == waits[i]);
    }
    heap_set_clock(heap, mark, UINT64_MAX);
    assert(!heap_stock(heap, mark)->armed);
    heap_end(heap);
}

/* A wait that is cut into shorter parts, since much memory became free, stays as long as it is. */
static void clocks_in_a_hurry_keep_their_wait(void)
{
    enum { WAIT = 5000, FREED = 600 };
    struct heap *heap = unit_heap(0, 0);
    unsigned mark = class_of(128), passed = 0;
    unit_free(heap, unit_malloc(heap, mark));
    heap->part = 1024;
    heap_set_clock(heap, mark, WAIT);
    assert(heap->clock[mark] > 100);
    struct span *span = pages_take(0, FREED, 1);
    assert(span != NULL);
    span->zero = false; /* as if it had been written to */
    heap->dirty_seen = pages_of[0].dirty_units;
    pages_give(span);
    bins_hurry(heap, heap->hurried_ms + 1000);
    assert(heap->clock[mark] < 100);
    for (bool over = false; !over;) {
        void *block = unit_pop(heap, mark);
        if (block != NULL) {
            passed++;
            unit_free(heap, block);
        } else {
            over = heap->clock[mark] < 0 && heap_clock_over(heap, mark);
        }
    }
    assert(passed == WAIT);
    heap_set_clock(heap, mark, UINT64_MAX);
    heap_end(heap);
}

/* Blocks of another colour are collected and go home, never handed out again from here. */
static void colours_do_not_mix(void)
{
    static void *held[HELD];
    struct heap *heap = unit_heap(1, 0);
    for (unsigned i = 0; i < HELD; i++)
        held[i] = unit_malloc(heap, 1);
    heap_end(heap);
    heap_drop_parked(os_now_ms(), 0); /* or it would be the same heap again */
    heap = unit_heap(2, 0);
    for (unsigned i = 0; i < HELD; i++) {
        unit_free(heap, held[i]);
        void *block = unit_malloc(heap, 1);
        assert(span_of(block)->mark == mark_make(1, 2));
        unit_free(heap, block);
    }
    heap_end(heap);
    heap_drop_parked(os_now_ms(), 0);
    assert(out_of(1, 1) == 0 && out_of(1, 2) == 0);
}

/* A thread that ends leaves its heap, warm, to the next one, which counts from zero; not too much
 * stays in it, and not for long. */
static void parked_heaps_serve_the_next_thread(void)
{
    static void *held[HELD];
    unsigned small = class_of(64), middle = class_of(8192);
    struct heap *heap = unit_heap(0, 0);
    for (unsigned i = 0; i < HELD; i++)
        held[i] = unit_malloc(heap, small);
    for (unsigned i = 0; i < HELD; i++)
        unit_free(heap, held[i]);
    unit_free(heap, unit_malloc(heap, middle));
    heap_end(heap);
    assert(heap_parked(0) && !heap_parked(1) && !heap->alive && unit_faults() == 0);
    size_t kept = heap_cached(heap, small);
    assert(kept > 0 && kept * 64 <= 8 << 10 && heap_cached(heap, middle) <= 1);
    assert(out_of(small, 0) == kept);

    assert(unit_heap(3, 0) == heap && !heap_parked(0) && heap->alive && heap->colour == 0);
    assert(heap_mallocs(heap, small) == 0 && heap_frees(heap, small) == 0);
    void *block = unit_malloc(heap, small);
    assert(heap_cached(heap, small) == kept - 1 && heap_mallocs(heap, small) == 1);
    unit_free(heap, block);
    assert(heap_frees(heap, small) == 1);
    heap_end(heap);

    heap_drop_parked(os_now_ms(), 60000);
    assert(heap_parked(0));
    heap_drop_parked(os_now_ms(), 0);
    assert(!heap_parked(0) && heap_cached(heap, small) == 0 && out_of(small, 0) == 0);
}

static void *park(void *all_here)
{
    struct heap *heap = unit_heap(0, 0);
    unit_free(heap, unit_malloc(heap, 5));
    pthread_barrier_wait(all_here);
    heap_end(heap);
    return heap;
}

static void only_so_many_heaps_are_parked(void)
{
    enum { MANY = 200, MOST = 8, SHARE = 8 };
    pthread_t threads[MANY];
    pthread_barrier_t all_here;
    unsigned kept = 0, all = 0;
    pthread_barrier_init(&all_here, NULL, MANY);
    for (int i = 0; i < MANY; i++)
        assert(pthread_create(&threads[i], NULL, park, &all_here) == 0);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        kept += heap_stock(heap, 5) != NULL, all++;
    assert(kept > 0 && (kept <= MOST || kept <= all / SHARE));
    heap_drop_parked(os_now_ms(), 0);
    assert(out_of(5, 0) == 0);
}

static void *stay(void *barriers)
{
    struct heap *heap = unit_heap(0, heap_pool_here(0));
    pthread_barrier_wait(barriers);
    pthread_barrier_wait((pthread_barrier_t *)barriers + 1);
    heap_end(heap);
    return NULL;
}

/* How many pools eight new threads would use. */
static unsigned pools_for_eight(void)
{
    unsigned pools = 0;
    for (uint32_t thread = 0; thread < 8; thread++)
        pools |= 1u << heap_pool_here(thread);
    return (unsigned)__builtin_popcount(pools);
}

static void very_many_threads_share_no_lists(void)
{
    enum { FEW = 20, MANY = 200 };
    const unsigned counts[] = {FEW, MANY};
    config.numa_nodes = 1; /* this thread may be on any node */
    for (unsigned k = 0; k < 2; k++) {
        pthread_t threads[MANY];
        pthread_barrier_t barriers[2];
        pthread_barrier_init(&barriers[0], NULL, counts[k] + 1);
        pthread_barrier_init(&barriers[1], NULL, counts[k] + 1);
        for (unsigned i = 0; i < counts[k]; i++)
            assert(pthread_create(&threads[i], NULL, stay, barriers) == 0);
        pthread_barrier_wait(&barriers[0]);
        assert(pools_for_eight() == (counts[k] == FEW ? 1 : POOL_MAX));
        pthread_barrier_wait(&barriers[1]);
        for (unsigned i = 0; i < counts[k]; i++)
            pthread_join(threads[i], NULL);
        assert(pools_for_eight() == 1);
    }
    heap_drop_parked(os_now_ms(), 0);
    config.numa_nodes = 0;
    assert(pages_node(0) == 0 && pages_node(7) < pages_nodes);
}

static void idle_bins_are_emptied(void)
{
    struct heap *heap = unit_heap(0, 0);
    unsigned idle = class_of(64), busy = class_of(128);
    config.return_delay_ms = 2;
    unit_free(heap, unit_malloc(heap, idle));
    bool emptied = false;
    for (int i = 0; i < 2000 && !emptied; i++) {
        usleep(1000);
        unit_free(heap, unit_malloc(heap, busy));
        heap_tick(heap);
        emptied = heap_cached(heap, idle) == 0;
    }
    assert(emptied && heap_cached(heap, busy) > 0);
    config_defaults(&config);
    heap_end(heap);
}

/* A slot that is used again and again does not keep the others of its bin. */
static void bins_used_little_shrink(void)
{
    enum { BLOCKS = 64 };
    struct heap *heap = unit_heap(0, 0);
    unsigned class = class_of(64);
    void *blocks[BLOCKS];
    size_t max = 0;
    for (int turn = 0; turn < 20; turn++) { /* so that the bin grows */
        for (unsigned i = 0; i < BLOCKS; i++)
            blocks[i] = unit_malloc(heap, class);
        for (unsigned i = 0; i < BLOCKS; i++)
            unit_free(heap, blocks[i]);
    }
    max = heap_cached(heap, class);
    assert(max >= BLOCKS / 2);
    config.return_delay_ms = 2;
    for (int i = 0; i < 2000 && heap_cached(heap, class) > max / 8; i++) {
        usleep(1000);
        unit_free(heap, unit_malloc(heap, class));
        heap_tick(heap);
    }
    assert(heap_cached(heap, class) <= max / 8 && heap_cached(heap, class) > 0);
    config_defaults(&config);
    heap_end(heap);
}

static void *short_life(void *unused)
{
    struct heap *heap = unit_heap(0, 0);
    unit_free(heap, unit_malloc(heap, 5));
    heap_end(heap);
    (void)unused;
    return heap;
}

static void ended_heaps_are_used_again(void)
{
    pthread_t thread;
    unsigned before = 0, after = 0;
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        before++;
    for (int i = 0; i < 50; i++) {
        assert(pthread_create(&thread, NULL, short_life, NULL) == 0);
        pthread_join(thread, NULL);
    }
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        after++;
    assert(after == before);
}

/*
 * Changes of mode. Each thread loops as malloc does: as long as its pointer shows its heap it
 * goes by the mode it last learned; else it learns anew. A lost change would leave it with an
 * old mode and a pointer to its heap, for ever.
 */
static uint32_t mode, learned[THREADS], stop, ready;

static bool is_lost(uint32_t seen)
{
    return load_relaxed(&heap_now) == heap_self && seen != load_relaxed(&mode);
}

static void *obey(void *argument)
{
    uint32_t *mine = &learned[(uintptr_t)argument];
    struct heap *heap = unit_heap(0, 0);
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
    while (!load_acquire(&stop)) {
        if (load_relaxed(&heap_now) == heap) {
            sched_yield();
            continue;
        }
        uint32_t generation;
        do {
            generation = heap_generation();
            store_release(mine, load_relaxed(&mode));
        } while (!heap_arm(heap, generation));
    }
    heap_end(heap);
    return NULL;
}

static void no_change_of_mode_is_lost(void)
{
    pthread_t threads[THREADS];
    uint64_t random = 11;
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, obey, (void *)i) == 0);
    while (load_acquire(&ready) < THREADS)
        usleep(100);
    for (unsigned round = 0; round < unit_times(400); round++) {
        unsigned changes = 1 + (unsigned)(unit_random(&random) % 4);
        for (unsigned i = 0; i < changes; i++) {
            store_relaxed(&mode, mode + 1);
            heap_interrupt(NULL);
            for (unsigned pause = (unsigned)(unit_random(&random) % 50); pause > 0; pause--)
                __asm__ volatile("" ::: "memory");
        }
        uint64_t until = os_now_ms() + 20000;
        for (size_t i = 0; i < THREADS; i++)
            while (load_acquire(&learned[i]) != mode) {
                assert(os_now_ms() < until); /* lost */
                sched_yield();
            }
    }
    store_release(&stop, 1);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* The same interleaving by hand: the change comes after the mode is learned and before the heap is
 * back. And the control: arming by a check before the store loses it. */
static void a_change_in_between_is_seen(void)
{
    struct heap *heap = unit_heap(0, 0);
    uint32_t generation = heap_generation(), seen = mode;
    store_relaxed(&mode, mode + 1);
    heap_interrupt(NULL);
    assert(!heap_arm(heap, generation));
    generation = heap_generation();
    seen = mode;
    assert(heap_arm(heap, generation) && !is_lost(seen) && heap_now == heap);

    generation = heap_generation();
    bool fresh = generation == heap_generation(); /* checked too early */
    store_relaxed(&mode, mode + 1);
    heap_interrupt(NULL);
    assert(heap_now == &heap_empty);
    if (fresh)
        store_relaxed(&heap_now, heap);
    assert(is_lost(seen));
    heap_end(heap);
    assert(heap_now == &heap_empty);
}

static void the_empty_heap_is_empty_and_full(void)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++)
        assert(heap_empty.top[mark] == 0 && heap_empty.limit[mark] == 0);
    assert(heap_now == &heap_empty);
}

int main(void)
{
    unit_start();
    the_empty_heap_is_empty_and_full();
    bins_fill_and_go_home();
    bins_stay_within_the_cap();
    bins_even_out();
    bins_of_many_threads_hold_less();
    clocks_count_every_malloc();
    clocks_end_when_they_should();
    clocks_in_a_hurry_keep_their_wait();
    colours_do_not_mix();
    idle_bins_are_emptied();
    bins_used_little_shrink();
    parked_heaps_serve_the_next_thread();
    only_so_many_heaps_are_parked();
    very_many_threads_share_no_lists();
    ended_heaps_are_used_again();
    no_change_of_mode_is_lost();
    a_change_in_between_is_seen();
    the_empty_heap_is_empty_and_full();
    return 0;
}
