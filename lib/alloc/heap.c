/* SPDX-License-Identifier: MIT */
/* See lib/alloc/heap.h. */
#include "lib/alloc/heap.h"

#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/alloc/meta.h"

enum {
    CAP_FIRST_BYTES = 32 << 10,  /* a bin starts with so many bytes, */
    CAP_FIRST_MOST = 3,          /* but at most so many blocks, the room of the smallest stock, */
    CAP_FIRST_LEAST = 1,         /* and at least so many; */
    CAP_EAGER = 128,             /* it grows at once to so many blocks */
    CAP_EAGER_BYTES = 16 << 10, /* or bytes, and beyond when it empties and overflows in turn */
    CAP_EAGER_SHARE = 32,        /* x */
    CAP_FILLED = 32,             /* a bin that is only ever filled grows to so many blocks */
    CAP_FAIR_BYTES = 8 << 10,    /* and to so many bytes whatever the other bins have */
    CACHE_LEAST = 128 << 10,     /* a heap's bins hold so much, */
    CACHE_SHARE = 16,            /* and one in so many bytes in use on top */
    GROW_FILLS = 3,              /* refills without a spill before a bin grows */
    STEAL_EVERY = 64,            /* cold visits between two looks for bins that could make room */
    STOCK_LEAST = 64,
    STOCK_MOST = 32768,
    WAIT_PART = 1024,         /* mallocs from one bin until the thread comes by, sample or not */
    PARKED_MOST = 8,          /* heaps of ended threads kept as they are, */
    PARKED_BYTES = 8 << 10,   /* with so much in a bin */
};

static void *bottom[2]; /* the slots of a bin without a stock: empty and full */

struct heap heap_empty = {.top = {[0 ... MARK_COUNT - 1] = bottom}};
__thread struct heap *heap_now = &heap_empty;
__thread struct heap *heap_self;

struct lock heap_lock = {0, LOCK_REGISTRY};
struct heap_sums heap_retired_large;
static uint64_t retired[CLASS_COUNT]; /* mallocs of ended heaps */
static struct heap *all, *unused;
static struct heap *parked[POOL_MAX]; /* of ended threads, ready for the next ones */
static int parked_count;              /* and those about to be */
static uint32_t generation = 1;

static uint32_t low_half(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}

void heap_init(void)
{
    for (unsigned i = 0; i < MARK_COUNT; i++)
        heap_empty.limit[i] = low_half(bottom);
}

/* A bin without a stock: empty and full. */
static void bin_close(struct heap *heap, unsigned mark)
{
    heap->limit[mark] = low_half(bottom);
    store_release(&heap->top[mark], bottom);
}

static void heap_reset(struct heap *heap)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        bin_close(heap, mark);
        heap->clock[mark] = 0;
    }
    for (unsigned granules = 1; granules <= SMALL_GRANULES; granules++)
        heap->marks[granules] = (uint8_t)mark_make(size_small_class[granules], heap->colour);
}

static void heap_salvage(struct heap *heap);
static void retire_locked(struct heap *heap);

/* A thread that ended without a word, by the bare system call for instance, leaves its heap behind.
 * Whoever makes a heap looks at one other, in turn. */
static void adopt_one(void)
{
    static struct heap *cursor;
    struct heap *dead = NULL;
    lock_take(&heap_lock);
    cursor = cursor == NULL ? heap_first() : cursor->all;
    if (cursor != NULL && cursor->alive && !os_thread_alive((pid_t)cursor->tid)) {
        dead = cursor;
        dead->alive = false; /* ours now */
    }
    lock_give(&heap_lock);
    if (dead == NULL)
        return;
    heap_salvage(dead);
    lock_take(&heap_lock);
    retire_locked(dead);
    lock_give(&heap_lock);
}

unsigned heap_pool_here(void)
{
    unsigned nodes =
        config.numa_nodes == 0 || config.numa_nodes > POOL_MAX ? POOL_MAX : config.numa_nodes;
    return nodes == 1 ? 0 : os_node() % nodes;
}

bool heap_parked(unsigned pool)
{
    return load_relaxed(&parked[pool]) != NULL;
}

/* Empties a heap without a thread, in no list, and puts it to the unused ones. */
static void drop(struct heap *heap)
{
    heap_flush(heap);
    lock_take(&heap_lock);
    retire_locked(heap);
    lock_give(&heap_lock);
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
        lock_take(&heap_lock);
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

/* A heap as another thread left it, unless the options have changed since. */
static struct heap *unpark(unsigned pool)
{
    if (!heap_parked(pool))
        return NULL;
    lock_take(&heap_lock);
    struct heap *heap = parked[pool] == NULL ? NULL : unpark_locked(&parked[pool]);
    lock_give(&heap_lock);
    if (heap == NULL || heap->cache_bytes <= config.cache)
        return heap;
    drop(heap);
    return NULL;
}

static struct heap *heap_fresh(unsigned colour, unsigned pool)
{
    lock_take(&heap_lock);
    struct heap *heap = unused;
    if (heap != NULL)
        unused = heap->free;
    lock_give(&heap_lock);
    if (heap == NULL) {
        static uint8_t made;
        heap = meta_take_for_ever(sizeof *heap);
        if (heap == NULL)
            return NULL;
        heap->side = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) % SIDES;
        heap->all = load_relaxed(&all);
        while (!__atomic_compare_exchange_n(&all, &heap->all, heap, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
            ;
    }
    heap->colour = (uint8_t)colour;
    heap->pool = (uint8_t)pool;
    heap->generation = 0;
    heap->large_clock = 0;
    heap->random = (uintptr_t)heap | 1; /* until somebody has a better seed */
    heap_reset(heap);
    return heap;
}

struct heap *heap_make(unsigned colour, unsigned pool)
{
    adopt_one();
    struct heap *heap = unpark(pool);
    if (heap == NULL && (heap = heap_fresh(colour, pool)) == NULL)
        return NULL;
    pages_side = heap->side;
    heap->tid = lock_self();
    heap->now = &heap_now;
    heap->looked_ms = (uint32_t)os_now_ms();
    lock_take(&heap_lock);
    store_release(&heap->alive, true);
    lock_give(&heap_lock);
    heap_self = heap;
    return heap;
}

uint32_t heap_generation(void)
{
    return load_acquire(&generation);
}

void heap_interrupt(void)
{
    lock_take(&heap_lock);
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        if (heap->alive && os_thread_alive((pid_t)heap->tid))
            store_release(heap->now, &heap_empty);
    lock_give(&heap_lock);
}

bool heap_arm(struct heap *heap, uint32_t configured)
{
    heap->generation = configured;
    /* An exchange, not a store: it must be visible before the generation is read again. */
    (void)__atomic_exchange_n(&heap_now, heap, __ATOMIC_SEQ_CST);
    return load_acquire(&generation) == configured;
}

static size_t room_of(size_t bytes)
{
    return (bytes - sizeof(struct stock)) / sizeof(void *) - 1;
}

static size_t stock_bytes(const struct stock *stock)
{
    return sizeof *stock + (stock->room + (size_t)1) * sizeof(void *);
}

static size_t size_of(unsigned mark)
{
    return class_size(mark_class(mark));
}

/* Whether malloc takes blocks from this bin, or it only collects what others handed out. */
static bool is_own(const struct heap *heap, unsigned mark)
{
    unsigned class = mark_class(mark);
    return mark_make(class, heap->colour) == mark;
}

/* Points the bin at `stock`, with its first `count` slots filled. */
static void bin_set(struct heap *heap, unsigned mark, struct stock *stock, size_t count)
{
    store_release(&heap->stocks[mark], meta_id(stock));
    heap->limit[mark] = low_half(stock->slots + stock->cap);
    store_relaxed(&heap->top[mark], stock->slots + count);
}

static uint16_t cap_first(unsigned mark)
{
    size_t cap = CAP_FIRST_BYTES / size_of(mark);
    return (uint16_t)(cap < CAP_FIRST_LEAST  ? CAP_FIRST_LEAST
                      : cap > CAP_FIRST_MOST ? CAP_FIRST_MOST
                                             : cap);
}

static void bin_give(struct heap *heap, unsigned mark, unsigned count);

static struct stock *stock_make(struct heap *heap, unsigned mark)
{
    struct stock *stock = meta_take(STOCK_LEAST);
    if (stock == NULL)
        return NULL;
    stock->room = (uint16_t)room_of(STOCK_LEAST);
    stock->cap = cap_first(mark);
    stock->batch = 1;
    heap->cache_bytes += stock->cap * size_of(mark);
    bin_set(heap, mark, stock, 0);
    return stock;
}

/* Bins without a malloc since the last look, but for one, give everything back and start small
 * again. */
static void look_for_idle(struct heap *heap, unsigned except)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL || mark == except)
            continue;
        uint32_t mallocs =
            (uint32_t)(is_own(heap, mark) ? heap_mallocs(heap, mark) : (uint64_t)stock->taken);
        if (mallocs == stock->seen) {
            size_t count = heap_cached(heap, mark);
            if (count > 0)
                bin_give(heap, mark, (unsigned)count);
            heap->cache_bytes -= (stock->cap - cap_first(mark)) * size_of(mark);
            stock->cap = cap_first(mark);
            stock->batch = 1;
            bin_set(heap, mark, stock, 0);
        }
        stock->seen = mallocs;
    }
}

static size_t used_bytes(const struct heap *heap)
{
    return load_relaxed(&pages_of[heap->pool].used_units) << UNIT_SHIFT;
}

/* What the bins may hold in all: a share of the memory in use, up to the option. */
static size_t allowance(const struct heap *heap, size_t size)
{
    if (size <= SMALL_MAX)
        return config.cache;
    size_t bytes = CACHE_LEAST + used_bytes(heap) / CACHE_SHARE;
    return bytes < config.cache ? bytes : config.cache;
}

/* By how many blocks the bin may grow: to what its stock, or one twice as long, has room for, as far
 * as the heap's allowance goes. Bins that served another phase of the program make room. */
static size_t may_grow(struct heap *heap, unsigned mark, const struct stock *stock)
{
    size_t size = size_of(mark), allowed = allowance(heap, size), cap = stock->cap;
    size_t most = cap < stock->room ? stock->room : room_of(2 * stock_bytes(stock));
    size_t more = size <= SMALL_MAX || most < 2 * cap ? most - cap : cap;
    if (heap->cache_bytes + more * size > allowed &&
        heap->ticks - heap->stolen_ticks >= STEAL_EVERY) {
        heap->stolen_ticks = heap->ticks;
        look_for_idle(heap, mark);
    }
    size_t left = heap->cache_bytes < allowed ? (allowed - heap->cache_bytes) / size : 0;
    if (cap + left < CAP_FAIR_BYTES / size)
        left = CAP_FAIR_BYTES / size - cap;
    more = left < more ? left : more;
    return more >= cap / 8 + 1 ? more : 0;
}

/* Lets the bin hold more, if the heap's allowance and memory permit. */
static bool stock_grow(struct heap *heap, unsigned mark)
{
    struct stock *old = heap_stock(heap, mark), *stock = old;
    size_t more = may_grow(heap, mark, old);
    size_t count = heap_cached(heap, mark), cap = old->cap + more;
    if (more == 0)
        return false;
    if (cap > old->room) {
        size_t bytes = 2 * stock_bytes(old);
        if (bytes > STOCK_MOST || (stock = meta_take(bytes)) == NULL)
            return false;
        memcpy(stock, old, sizeof *old);
        memcpy(stock->slots, old->slots, (count + 1) * sizeof(void *));
        stock->room = (uint16_t)room_of(bytes);
    }
    heap->cache_bytes += more * size_of(mark);
    stock->cap = (uint16_t)cap;
    bin_set(heap, mark, stock, count);
    if (stock != old)
        meta_give(old, stock_bytes(old));
    return true;
}

static bool stock_eager(const struct heap *heap, const struct stock *stock, unsigned mark)
{
    size_t share = CAP_EAGER_BYTES + used_bytes(heap) / CAP_EAGER_SHARE;
    return stock->cap < CAP_EAGER && stock->cap * size_of(mark) < share;
}

bool heap_refill(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL && (stock = stock_make(heap, mark)) == NULL)
        return false;
    if (stock->fills < UINT8_MAX)
        stock->fills++;
    if (stock->fills >= GROW_FILLS && stock->batch >= stock->cap / 2 && stock_eager(heap, stock, mark) &&
        stock_grow(heap, mark))
        stock = heap_stock(heap, mark);
    unsigned wanted = stock->batch, got = central_take(heap->pool, mark, stock->slots + 1, wanted);
    if (got == 0)
        return false;
    if (got < wanted)
        memmove(stock->slots + 1, stock->slots + 1 + wanted - got, got * sizeof(void *));
    stock->taken += got;
    unsigned half = stock->cap > 1 ? stock->cap / 2u : 1, twice = stock->batch * 2u;
    stock->batch = (uint16_t)(twice < half ? twice : half);
    store_relaxed(&heap->top[mark], stock->slots + got);
    return true;
}

/* The `count` lowest slots, which were used longest ago, go home. Meanwhile the bin is empty and
 * full, so that neither a forked child nor a signal handler finds blocks in it that are elsewhere.
 */
static void bin_give(struct heap *heap, unsigned mark, unsigned count)
{
    struct stock *stock = heap_stock(heap, mark);
    size_t rest = heap_cached(heap, mark) - count;
    heap->limit[mark] = low_half(stock->slots);
    store_release(&heap->top[mark], stock->slots);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    central_give(stock->slots + 1, count);
    stock->taken -= count;
    memmove(stock->slots + 1, stock->slots + 1 + count, rest * sizeof(void *));
    store_release(&heap->top[mark], stock->slots + rest);
    heap->limit[mark] = low_half(stock->slots + stock->cap);
}

bool heap_spill(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL)
        return stock_make(heap, mark) != NULL;
    /* Emptied and filled in turn: more room pays. Only ever filled: up to a fair batch. */
    bool swings = stock->fills >= GROW_FILLS, fills_only = stock->fills == 0;
    stock->fills = 0;
    if ((swings || (fills_only && stock->cap < CAP_FILLED &&
                    stock_eager(heap, stock, mark))) && stock_grow(heap, mark))
        return true;
    stock = heap_stock(heap, mark);
    bin_give(heap, mark, (stock->cap + 1u) / 2);
    return true;
}

/* No bin keeps more than so many bytes. */
static void trim_bins(struct heap *heap, size_t bytes)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        size_t count = heap_cached(heap, mark), keep = count == 0 ? 0 : bytes / size_of(mark);
        if (count > keep)
            bin_give(heap, mark, (unsigned)(count - keep));
    }
}

void heap_flush(struct heap *heap)
{
    trim_bins(heap, 0);
}

void heap_tick(struct heap *heap)
{
    heap->ticks++;
    uint64_t now = os_now_ms();
    if ((uint32_t)now - heap->looked_ms < pages_look_ms() || config.return_delay_ms == config_never)
        return;
    heap->looked_ms = (uint32_t)now;
    heap_drop_parked(now, pages_look_ms());
    pages_tick(now); /* first, or what is given back now would make its old neighbours young */
    look_for_idle(heap, 0);
}

/* Sets the clock for the next part of the wait. */
static void clock_part(int32_t *clock, struct stock *stock)
{
    uint32_t part = stock->wait < WAIT_PART ? stock->wait : WAIT_PART;
    stock->wait -= part;
    add_relaxed(&stock->drawn, part);
    store_relaxed(clock, (int32_t)part);
}

void heap_set_clock(struct heap *heap, unsigned mark, uint64_t blocks)
{
    struct stock *stock = heap_stock(heap, mark);
    int32_t left = heap->clock[mark];
    add_relaxed(&stock->drawn, -(uint64_t)(left < 0 ? 0 : left));
    stock->armed = blocks <= UINT32_MAX; /* else only a pause: the wait is drawn anew then */
    stock->wait = stock->armed ? (uint32_t)blocks : UINT32_MAX;
    clock_part(&heap->clock[mark], stock);
}

bool heap_clock_over(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock->wait == 0)
        return true;
    /* The malloc that found the clock at its end is the first of the next part. */
    clock_part(&heap->clock[mark], stock);
    return false;
}

RACY size_t heap_cached(const struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL)
        return 0;
    void **top = load_relaxed(&heap->top[mark]);
    return top < stock->slots || top > stock->slots + stock->room ? 0
                                                                  : (size_t)(top - stock->slots);
}

RACY uint64_t heap_mallocs(const struct heap *heap, unsigned mark)
{
    const struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL)
        return 0;
    int32_t left = load_relaxed(&heap->clock[mark]);
    return load_relaxed(&stock->drawn) - (uint64_t)(left < 0 ? 0 : left);
}

uint64_t heap_frees(const struct heap *heap, unsigned mark)
{
    const struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL)
        return 0;
    return heap_mallocs(heap, mark) + heap_cached(heap, mark) - (uint64_t)stock->taken;
}

struct heap *heap_first(void)
{
    return load_acquire(&all);
}

uint64_t heap_retired_mallocs(unsigned class)
{
    return load_relaxed(&retired[class]);
}

/* What the heap counted goes to the sums of ended ones. As if it had just taken what it has. */
static void fold_locked(struct heap *heap)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL)
            continue;
        int32_t left = heap->clock[mark];
        add_relaxed(&retired[mark_class(mark)], heap_mallocs(heap, mark));
        store_relaxed(&stock->drawn, (uint64_t)(left < 0 ? 0 : left));
        stock->taken = (int64_t)heap_cached(heap, mark);
        stock->batch = 1; /* the next thread may need less */
    }
    __atomic_fetch_add(&heap_retired_large.allocs, heap->large.allocs, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap_retired_large.frees, heap->large.frees, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap_retired_large.alloc_bytes, heap->large.alloc_bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap_retired_large.free_bytes, heap->large.free_bytes, __ATOMIC_RELAXED);
    store_relaxed(&heap->large.allocs, 0);
    store_relaxed(&heap->large.frees, 0);
    store_relaxed(&heap->large.alloc_bytes, 0);
    store_relaxed(&heap->large.free_bytes, 0);
    store_release(&heap->alive, false);
}

static void retire_locked(struct heap *heap)
{
    fold_locked(heap);
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        bin_close(heap, mark);
        store_release(&heap->stocks[mark], 0);
        if (stock != NULL)
            meta_give(stock, stock_bytes(stock));
    }
    heap->cache_bytes = 0;
    heap->free = unused;
    unused = heap;
}

void heap_end(struct heap *heap)
{
    bool park = __atomic_fetch_add(&parked_count, 1, __ATOMIC_RELAXED) < PARKED_MOST;
    if (!park)
        __atomic_fetch_sub(&parked_count, 1, __ATOMIC_RELAXED);
    trim_bins(heap, park ? PARKED_BYTES : 0);
    heap->looked_ms = (uint32_t)os_now_ms();
    lock_take(&heap_lock);
    heap_self = NULL;
    store_release(&heap_now, &heap_empty);
    if (park) {
        fold_locked(heap);
        heap->free = parked[heap->pool];
        store_relaxed(&parked[heap->pool], heap);
    } else {
        retire_locked(heap);
    }
    lock_give(&heap_lock);
}

/* A heap whose thread was cut off anywhere: its slots are good only if nobody else has the
 * block, which its mark and its bit in the span tell. */
static void heap_salvage(struct heap *heap)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        size_t count = heap_cached(heap, mark);
        for (size_t i = 1; i <= count; i++) {
            void *block = stock->slots[i];
            if ((uintptr_t)block - window.base >= window.granules * GRANULE ||
                *mark_at(block) != MARK_FREE)
                continue;
            struct span *span = span_of(block);
            unsigned class = mark_class(span->mark), index = span_index(span, block, class);
            if (span->state == SPAN_BLOCKS && index < span->blocks &&
                span_block(span, index, class) == block &&
                !(span->bits[index / 64] >> (index % 64) & 1))
                central_give(&block, 1);
        }
        heap->top[mark] = bottom;
    }
}

void heap_recover(void)
{
    unused = NULL;
    memset(parked, 0, sizeof parked);
    parked_count = 0;
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        if (heap == heap_self) {
            heap->tid = lock_self();
            continue;
        }
        heap_salvage(heap);
        lock_take(&heap_lock);
        retire_locked(heap);
        lock_give(&heap_lock);
    }
}
