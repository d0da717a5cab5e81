/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/heap.h. The life of a heap: made from metadata memory, or taken over from the
 * thread that parked it; used by one thread; parked when that thread ends, with its blocks, for
 * the next thread; emptied when it was parked for long. Its counters are added to those of ended
 * threads then. Heaps of threads that vanished in a fork are salvaged by the child.
 */
#include "lib/alloc/heap.h"

#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/alloc/bin.h"
#include "lib/alloc/delay.h"
#include "lib/alloc/held.h"
#include "lib/alloc/spare.h"
#include "lib/window/window.h"

enum {
    HURRY_EVERY = 8,        /* cold visits, or a millisecond, between two looks at what is free */
    PARKED_MIN = 8,         /* heaps of ended threads kept as they are, */
    PARKED_SHARE = 8,       /* or one in this many of all heaps if that is more, */
    PARKED_BYTES = 8 << 10, /* with at most this many bytes in a bin */
    SPREAD_FROM = 128,      /* heaps of live threads; beyond, new threads use all pools */
    SIDES_YOUNG = 4,        /* of threads without a heap: a span for each would be too many */
    ADOPT_FROM = 64,        /* heaps, before one without a thread is looked for */
};

__thread struct heap *heap_now = &heap_empty;
__thread struct heap *heap_self;

struct lock heap_lock = {.rank = LOCK_REGISTRY};
struct heap_sums heap_retired_large;
static uint64_t retired[CLASS_COUNT]; /* mallocs of ended heaps, and some of none */
static struct heap *all;
static struct heap *unused;           /* taken under the lock, put back without it */
static struct heap *parked[POOL_MAX]; /* of ended threads, ready for the next ones */
static int parked_count;              /* and those about to be */
static uint32_t made;                 /* heaps in all */
uint32_t heap_generation_now = 1;
static pid_t process; /* whose threads have heaps */

void heap_init(void)
{
    process = os_pid();
}

static void heap_reset(struct heap *heap)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        bin_close(heap, mark);
        heap->clock[mark] = 0;
        heap->live[mark] = window.live[mark];
    }
    for (unsigned granules = 1; granules <= SMALL_GRANULES; granules++)
        heap->marks[granules] = (uint8_t)mark_make(size_small_class[granules], heap->colour);
}

static void heap_salvage(struct heap *heap);
static void retire(struct heap *heap);

/* A thread that exited without running its destructors (raw exit system call) leaves its heap
 * behind. Once there are many heaps, a thread that makes a heap checks one other, in turn. Programs
 * with few threads never ask the kernel: a seccomp filter of theirs may forbid it. */
static void adopt_one(void)
{
    static struct heap *cursor;
    if (load_relaxed(&made) < ADOPT_FROM)
        return;
    struct heap *heap = load_relaxed(&cursor);
    heap = heap == NULL ? heap_first() : heap->all; /* two threads may look at the same one */
    store_relaxed(&cursor, heap);
    uint32_t tid = heap == NULL ? 0 : load_relaxed(&heap->tid);
    /* The kernel is asked without the lock: thousands of threads may need it. */
    if (heap == NULL || !load_acquire(&heap->alive) || heap->inherited ||
        !os_thread_gone((pid_t)tid))
        return;
    lock_take(&heap_lock);
    bool dead = heap->alive && !heap->inherited && heap->tid == tid;
    if (dead) {
        store_release(&heap->alive, false); /* ours now */
        __atomic_fetch_sub(&pages_threads, 1, __ATOMIC_RELAXED);
    }
    lock_give(&heap_lock);
    if (!dead)
        return;
    heap_salvage(heap);
    retire(heap);
}

/* With thousands of threads on a few CPUs, the owner of a lock is often not running. All threads
 * that need the lock then queue up, at two context switches each; with eight sets of centres, an
 * eighth of the threads wait for each lock. */
unsigned heap_pool_here(uint32_t thread)
{
    unsigned max =
        config.numa_nodes == 0 || config.numa_nodes > POOL_MAX ? POOL_MAX : config.numa_nodes;
    unsigned node = max == 1 ? 0 : os_node() % max, nodes = load_relaxed(&pages_nodes);
    while (nodes <= node)
        if (__atomic_compare_exchange_n(&pages_nodes, &nodes, nodes * 2, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            nodes *= 2;
    if (load_relaxed(&pages_threads) <= SPREAD_FROM)
        return node;
    return node + thread % (POOL_MAX / nodes) * nodes;
}

uint32_t heap_side(void)
{
    static uint32_t sides;
    if (unlikely(pages_number == 0)) {
        pages_number = (uint8_t)__atomic_add_fetch(&sides, 1, __ATOMIC_RELAXED);
        if (pages_number != 1)
            store_relaxed(&pages_several, true);
        pages_side = (pages_number - 1u) % SIDES_YOUNG;
    }
    return pages_number - 1u;
}

bool heap_parked(unsigned pool)
{
    return load_relaxed(&parked[pool]) != NULL;
}

/* Empties a heap without a thread, in no list, and puts it to the unused ones. */
static void drop(struct heap *heap)
{
    heap_flush(heap);
    retire(heap);
}

static struct heap *unpark_locked(struct heap **link)
{
    struct heap *heap = *link;
    store_relaxed(link, heap->free);
    __atomic_fetch_sub(&parked_count, 1, __ATOMIC_RELAXED);
    return heap;
}

void heap_drop_parked(uint64_t now_ms, uint64_t idle_ms)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        struct heap *idle = NULL;
        if (!heap_parked(pool))
            continue;
        if (idle_ms == 0)
            lock_take(&heap_lock);
        else if (!lock_try(&heap_lock))
            return;
        for (struct heap **link = &parked[pool]; *link != NULL;) {
            if ((uint32_t)now_ms - (*link)->looked_ms < idle_ms) {
                link = &(*link)->free;
                continue;
            }
            struct heap *heap = unpark_locked(link);
            heap->free = idle;
            idle = heap;
        }
        lock_give(&heap_lock);
        while (idle != NULL) {
            struct heap *heap = idle;
            idle = heap->free;
            drop(heap);
        }
    }
}

/* A heap as another thread left it. */
static struct heap *unpark(unsigned pool)
{
    if (!heap_parked(pool))
        return NULL;
    lock_take(&heap_lock);
    struct heap *heap = parked[pool] == NULL ? NULL : unpark_locked(&parked[pool]);
    lock_give(&heap_lock);
    return heap;
}

/* One of the unused heaps. The lock keeps others from taking it in between. */
static struct heap *unused_take(void)
{
    if (load_relaxed(&unused) == NULL)
        return NULL;
    lock_take(&heap_lock);
    struct heap *heap = load_acquire(&unused);
    while (heap != NULL && !__atomic_compare_exchange_n(&unused, &heap, heap->free, true,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        ;
    lock_give(&heap_lock);
    return heap;
}

static struct heap *heap_fresh(unsigned colour, unsigned pool)
{
    struct heap *heap = unused_take();
    if (heap == NULL) {
        heap = meta_take_for_ever(sizeof *heap);
        if (heap == NULL)
            return NULL;
        __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
        heap->all = load_relaxed(&all);
        while (!__atomic_compare_exchange_n(&all, &heap->all, heap, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
            ;
    }
    heap->colour = (uint8_t)colour;
    heap->pool = (uint8_t)pool;
    heap->side = (uint8_t)heap_side();
    store_relaxed(&heap->generation, 0);
    heap->watched = false;
    heap->large_clock = 0;
    heap->random = (uintptr_t)heap | 1; /* until there is a better seed */
    heap_reset(heap);
    return heap;
}

struct heap *heap_make(unsigned colour, unsigned pool)
{
    /* From a child that shares our memory (vfork) all threads look dead: no heap is made there. */
    if (os_pid() != process)
        return NULL;
    uint32_t before;
    lock_forget_self(&before); /* such a child may have left its id */
    adopt_one();
    struct heap *heap = unpark(pool);
    if (heap == NULL && (heap = heap_fresh(colour, pool)) == NULL)
        return NULL;
    pages_side = heap->side;
    store_relaxed(&heap->tid, lock_self());
    heap->now = &heap_now;
    heap->cache = heap_cache_first;
    if (heap->cache.bounded)
        heap_bound(heap); /* it may have been another thread's */
    heap->looked_ms = heap->came_ms = heap->part_ms = (uint32_t)os_now_ms();
    heap->part = 1;
    store_release(&heap->alive, true);
    __atomic_fetch_add(&pages_threads, 1, __ATOMIC_RELAXED);
    heap_self = heap;
    return heap;
}

/* A thread that has not come by since the last time has `heap_empty` still, and the kernel need not
 * be asked about it. One that is about to be hot again finds the new generation, or is seen here:
 * each writes its own number before it reads the other's. */
void heap_interrupt(uint32_t *noted)
{
    lock_take(&heap_lock);
    if (noted != NULL)
        store_release(noted, heap_generation_now + 1);
    uint32_t before = __atomic_fetch_add(&heap_generation_now, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        if (load_relaxed(&heap->generation) == before && heap->alive && !heap->inherited &&
            os_thread_alive((pid_t)heap->tid))
            store_release(heap->now, &heap_empty);
    lock_give(&heap_lock);
}

bool heap_arm(struct heap *heap, uint32_t configured)
{
    store_relaxed(&heap->generation, configured);
    /* An exchange, not a store: it reads the newest value. So if it overwrites the `heap_empty` of
     * `heap_interrupt`, it synchronizes with that release store, and the load below sees the new
     * generation. The fence covers two other cases: `heap_interrupt` found the old number in
     * `heap->generation` and stored nothing, or `heap_hide` has overwritten what it stored. */
    (void)__atomic_exchange_n(&heap_now, heap, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return load_acquire(&heap_generation_now) == configured;
}

bool heap_hide(const struct heap *heap)
{
    if (load_relaxed(&heap_now) != heap)
        return false;
    store_relaxed(&heap_now, &heap_empty);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

void heap_show(struct heap *heap)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (unlikely(!heap_arm(heap, heap->generation))) /* interrupted meanwhile */
        store_relaxed(&heap_now, &heap_empty);
}

uint64_t heap_tick(struct heap *heap)
{
    heap->ticks++;
    uint64_t now = os_now_ms();
    if (heap->ticks % HURRY_EVERY == 0 || (uint32_t)now != heap->came_ms)
        bins_hurry(heap, (uint32_t)now);
    heap->came_ms = (uint32_t)now;
    if ((uint32_t)now - heap->looked_ms < pages_look_ms() || config.return_delay_ms == config_never)
        return now;
    heap->looked_ms = (uint32_t)now;
    heap_drop_parked(now, pages_look_ms());
    pages_tick(now); /* first, or what is given back now would make its old neighbours young */
    bins_shrink(heap);
    spares_give(heap);
    return now;
}

struct heap *heap_first(void)
{
    return load_acquire(&all);
}

uint32_t heap_threads(void)
{
    return load_relaxed(&pages_threads);
}

uint32_t heap_count(void)
{
    return load_relaxed(&made);
}

uint64_t heap_retired_mallocs(unsigned class)
{
    return load_relaxed(&retired[class]);
}

bool heap_count_kept(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (likely(stock != NULL))
        add_relaxed(&stock->drawn, 1);
    else
        __atomic_fetch_add(&retired[mark_class(mark)], 1, __ATOMIC_RELAXED);
    return stock != NULL;
}

void heap_count_retired(unsigned class, uint64_t mallocs)
{
    __atomic_fetch_add(&retired[class], mallocs, __ATOMIC_RELAXED);
}

void heap_count_ended(const struct heap_sums *more)
{
    __atomic_fetch_add(&heap_retired_large.allocs, more->allocs, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap_retired_large.frees, more->frees, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap_retired_large.alloc_bytes, more->alloc_bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap_retired_large.free_bytes, more->free_bytes, __ATOMIC_RELAXED);
}

/* What the heap counted goes to the sums of ended ones. As if it had just taken what it has. */
static void fold_locked(struct heap *heap)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL)
            continue;
        int32_t left = heap->clock[mark];
        __atomic_fetch_add(&retired[mark_class(mark)], heap_mallocs(heap, mark), __ATOMIC_RELAXED);
        store_relaxed(&stock->drawn, (uint64_t)(left < 0 ? 0 : left));
        stock->taken = (int64_t)heap_cached(heap, mark);
        stock->batch = 1; /* the next thread may need less */
    }
    heap_count_ended(&heap->large);
    heap_sums_store(&heap->large, &(struct heap_sums){0});
    __atomic_fetch_sub(&pages_threads, heap->alive, __ATOMIC_RELAXED);
    store_release(&heap->alive, false);
}

/* After `fold_locked`: the heap waits for a thread, without memory. */
static void put_away(struct heap *heap)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++)
        bin_end(heap, mark);
    heap->cache_bytes = 0;
    heap->free = load_relaxed(&unused);
    while (!__atomic_compare_exchange_n(&unused, &heap->free, heap, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
}

static void retire(struct heap *heap)
{
    lock_take(&heap_lock);
    fold_locked(heap);
    lock_give(&heap_lock);
    put_away(heap);
}

void heap_end(struct heap *heap)
{
    bool park = heap->cache_bytes <= config.cache;
    int max = (int)(load_relaxed(&made) / PARKED_SHARE);
    max = max > PARKED_MIN ? max : PARKED_MIN;
    park &= __atomic_fetch_add(&parked_count, 1, __ATOMIC_RELAXED) < max;
    if (!park)
        __atomic_fetch_sub(&parked_count, 1, __ATOMIC_RELAXED);
    bins_trim(heap, park ? PARKED_BYTES : 0);
    heap->looked_ms = (uint32_t)os_now_ms();
    lock_take(&heap_lock);
    heap_self = NULL;
    store_release(&heap_now, &heap_empty);
    fold_locked(heap);
    if (park) {
        heap->free = parked[heap->pool];
        store_relaxed(&parked[heap->pool], heap);
    }
    lock_give(&heap_lock);
    if (!park)
        put_away(heap);
}

/* A block of a heap whose thread stopped at any instruction: it goes back only if it belongs to
 * nothing else, which its mark and its bit in the span tell. */
static void block_salvage(void *block)
{
    if (!window_has(block) || mark_of(block) != MARK_FREE)
        return;
    struct span *span = span_of(block);
    unsigned class = mark_class(span->mark), index = span_index(span, block, class);
    if (span->state == SPAN_BLOCKS && index < span->blocks &&
        span_block(span, index, class) == block && !(span->bits[index / 64] >> (index % 64) & 1))
        central_give(&block, 1);
}

static void heap_salvage(struct heap *heap)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        size_t count = heap_cached(heap, mark);
        for (size_t i = 1; i <= count; i++)
            block_salvage(slot_block(stock->slots[i]));
        bin_close(heap, mark);
    }
    for (unsigned i = 0; i < COUNT_OF(heap->spares); i++) {
        block_salvage(heap->spares[i]);
        heap->spares[i] = NULL;
    }
    void *block;
    while (heap->delay != NULL && (block = delay_take_any(heap->delay)) != NULL)
        block_salvage(block);
    bins_note(heap);
}

void heap_recover(bool first)
{
    process = os_pid();
    unused = NULL;
    memset(parked, 0, sizeof parked);
    parked_count = 0;
    held_forget_bins();
    uint32_t alive = 0; /* counted anew: a thread of the parent may have been between its mark and
                           the count */
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        alive += heap->alive;
        memset(heap->noted, 0, sizeof heap->noted);
        heap->unshared = 0;
        heap->inherited = true;
    }
    store_relaxed(&pages_threads, alive);
    if (first)
        heap_claim();
}

void heap_claim(void)
{
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        if (!heap->inherited)
            continue;
        lock_take(&heap_lock);
        if (heap == heap_self) {
            heap->tid = lock_self();
        } else {
            __atomic_fetch_sub(&pages_threads, heap->alive, __ATOMIC_RELAXED);
            heap->alive = false; /* ours now */
        }
        heap->inherited = false;
        lock_give(&heap_lock);
        if (heap == heap_self) {
            bins_note(heap);
        } else {
            heap_salvage(heap);
            retire(heap);
        }
    }
}

void heap_abandoned(void)
{
    if (lock_is_own(&heap_lock))
        lock_give(&heap_lock);
    store_release(&heap_now, &heap_empty);
    if (heap_self != NULL)
        bins_settle(heap_self);
}
