/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/bin.h: the bins of a heap and how much they may hold. A bin that runs empty is
 * refilled from its centre, one that is full spills half of its blocks there. How often that
 * happens decides on its capacity: a bin that swings between the two grows, within its share of the
 * memory in use; a bin that is idle, or used little, gives its blocks back.
 */
#include "lib/alloc/bin.h"

#include <string.h>

#include "lib/alloc/delay.h"
#include "lib/alloc/held.h"
#include "lib/alloc/spare.h"
#include "lib/window/window.h"

enum {
    /* A bin starts with as many blocks as fit into CAP_FIRST_BYTES, within two limits. */
    CAP_FIRST_BYTES = 8 << 10,
    CAP_FIRST_MAX = 3, /* at most this many blocks: the room of the smallest stock */
    CAP_FIRST_MIN = 1,
    /* From this `stock.swings` on refills make it grow, and spills even beyond CAP_EAGER: a program
     * that takes 1,000 blocks and then frees them refills twice and spills once a turn. */
    GROW_SWINGS = 6,
    /* Between two looks at the time, mallocs for each block in the bin; with fewer than this it
     * gives half of them back. One slot that is used again and again would otherwise keep all of
     * the others, and the spans that they are in, for as long as the thread lives. */
    LIGHT_USE = 16,

    STEAL_EVERY = 64,  /* refills and spills between two looks for bins that could make room: at
                          each one, 10,000 threads spent a seventh of their time looking */
    STOCK_MIN = 64,    /* bytes: a cache line; most bins of a small program never need more */
    STOCK_MAX = 32768, /* bytes, for some 4,000 blocks: a spill of half of them is one long visit */

    /* What bins hold is told to the other threads when it has changed by this many bytes: more
     * would blur the peak, less would have threads write to one line of the cache all the time; */
    NOTE_BYTES = 16 << 10,
    NOTE_SHARE = 32, /* or by one in this many of the bytes that they may hold if that is more, */
    NOTE_MAX = 64 << 10, /* up to this many bytes */
};

BULK struct heap heap_empty; /* zeros: the bins are empty and full; never written */

void bin_close(struct heap *heap, unsigned mark)
{
    heap->limit[mark] = 0;
    store_release(&heap->top[mark], 0);
}

static size_t room_of(size_t bytes)
{
    return (bytes - sizeof(struct stock)) / sizeof(uint64_t) - 1;
}

static size_t stock_bytes(const struct stock *stock)
{
    return sizeof *stock + (stock->room + (size_t)1) * sizeof(uint64_t);
}

void bin_end(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    bin_close(heap, mark);
    store_relaxed(&heap->stocked[mark / 64],
                  heap->stocked[mark / 64] & ~(UINT64_C(1) << mark % 64));
    store_release(&heap->slots[mark], NULL);
    if (stock != NULL)
        meta_give(stock, stock_bytes(stock));
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

/* Points the bin at `stock`, with its first `count` slots filled. A top without its limit would let
 * the hot path write beyond the stock, in a signal handler or after a jump out of one: meanwhile
 * the heap is not to be found there. */
static void bin_set(struct heap *heap, unsigned mark, struct stock *stock, size_t count)
{
    bool hidden = heap_hide(heap);
    store_release(&heap->slots[mark], stock->slots);
    store_relaxed(&heap->top[mark], stock->slots[count]);
    heap->limit[mark] = stock->cap;
    if (hidden)
        heap_show(heap);
}

void bins_settle(struct heap *heap)
{
    heap->cache_bytes = 0;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL) {
            bin_close(heap, mark);
            continue;
        }
        size_t count = heap_cached(heap, mark);
        heap->cache_bytes += stock->cap * size_of(mark);
        bin_set(heap, mark, stock, count <= stock->cap ? count : stock->cap);
        if ((int64_t)stock->drawn < heap->clock[mark])
            store_relaxed(&stock->drawn, (uint64_t)heap->clock[mark]);
        int64_t seen = (int64_t)(heap_mallocs(heap, mark) + heap_cached(heap, mark));
        if (stock->taken > seen) /* what was taken and got lost */
            stock->taken = seen;
    }
}

/* Makes the bin empty and full while its stock is changed, so that neither a forked child nor a
 * signal handler finds blocks in it that are elsewhere. */
static void bin_shut(struct heap *heap, unsigned mark)
{
    store_relaxed(&heap->top[mark], 0);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    heap->limit[mark] = 0;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* A bin that has a stock or was closed, in its own thread. */
INLINE void note(struct heap *heap, unsigned mark)
{
    uint16_t count = (uint16_t)slot_place(heap->top[mark]);
    heap->unshared += (count - heap->noted[mark]) * (int64_t)size_of(mark);
    heap->noted[mark] = count;
}

/* All threads write the sum, so small changes wait until they are many. */
static void notes_share(struct heap *heap)
{
    int64_t max = (int64_t)heap->cache_bytes / NOTE_SHARE;
    max = max < NOTE_BYTES ? NOTE_BYTES : max > NOTE_MAX ? NOTE_MAX : max;
    if (heap->unshared >= -max && heap->unshared <= max)
        return;
    held_note_in_bins((uint64_t)heap->unshared);
    heap->unshared = 0;
}

void bin_note(struct heap *heap, unsigned mark)
{
    note(heap, mark);
    notes_share(heap);
}

void bins_note(struct heap *heap)
{
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1)
            note(heap, word * 64 + (unsigned)__builtin_ctzll(bits));
    notes_share(heap);
}

/* How many blocks a bin may hold at first; 0: none goes through it (`heap_take_one`). */
static uint16_t cap_first(const struct heap *heap, unsigned mark)
{
    size_t cap = CAP_FIRST_BYTES / size_of(mark), max = bin_max(heap, mark);
    cap = cap < CAP_FIRST_MIN ? CAP_FIRST_MIN : cap > CAP_FIRST_MAX ? CAP_FIRST_MAX : cap;
    return (uint16_t)(cap < max ? cap : max);
}

static void bin_give(struct heap *heap, unsigned mark, unsigned count);

static struct stock *stock_make(struct heap *heap, unsigned mark)
{
    struct stock *stock = meta_take(STOCK_MIN);
    if (stock == NULL)
        return NULL;
    stock->room = (uint16_t)room_of(STOCK_MIN);
    stock->cap = cap_first(heap, mark);
    stock->batch = 1;
    heap->cache_bytes += stock->cap * size_of(mark);
    bin_set(heap, mark, stock, 0);
    store_release(&heap->stocked[mark / 64], heap->stocked[mark / 64] | UINT64_C(1) << mark % 64);
    return stock;
}

/* Everything goes home, and the bin starts small again. */
static void bin_empty(struct heap *heap, unsigned mark, struct stock *stock)
{
    bool hidden = heap_hide(heap);
    size_t count = heap_cached(heap, mark);
    if (count > 0)
        bin_give(heap, mark, (unsigned)count);
    uint16_t cap = bins_budgeted(heap) ? 0 : cap_first(heap, mark);
    cap = cap < stock->cap ? cap : stock->cap;
    heap->cache_bytes -= (size_t)(stock->cap - cap) * size_of(mark);
    stock->cap = cap;
    stock->batch = 1;
    bin_set(heap, mark, stock, 0);
    if (hidden)
        heap_show(heap);
}

/* Looks at all bins but one for what happened since the last look. */
static void bins_look(struct heap *heap, unsigned except, bool halve)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL || mark == except)
            continue;
        bool own = is_own(heap, mark);
        uint32_t mallocs = (uint32_t)(own ? heap_mallocs(heap, mark) : (uint64_t)stock->taken);
        uint32_t used = mallocs - stock->seen;
        size_t count = heap_cached(heap, mark);
        if (used == 0)
            bin_empty(heap, mark, stock);
        else if (halve && own && count > 1 && used < count * LIGHT_USE)
            bin_give(heap, mark, (unsigned)count / 2);
        stock->seen = mallocs;
    }
}

void bins_empty_idle(struct heap *heap, unsigned except)
{
    bins_look(heap, except, false);
}

void bins_shrink(struct heap *heap)
{
    bins_look(heap, 0, true);
}

/* A bin may hold fewer blocks from now on. */
static void bin_lower(struct heap *heap, unsigned mark, struct stock *stock, uint16_t cap)
{
    bool hidden = heap_hide(heap);
    size_t count = heap_cached(heap, mark);
    if (count > cap)
        bin_give(heap, mark, (unsigned)(count - cap));
    heap->cache_bytes -= (size_t)(stock->cap - cap) * size_of(mark);
    stock->cap = cap;
    if (stock->batch > cap)
        stock->batch = cap; /* or a refill would end beyond the limit */
    bin_set(heap, mark, stock, heap_cached(heap, mark));
    if (hidden)
        heap_show(heap);
}

/* Bins of blocks above SMALL_MAX that may hold many more than `cap` make room for another one, a
 * quarter of the difference each: how often a bin is empty or full depends on how many blocks it
 * may hold, so an allowance serves best when all may hold about as many. */
static void bins_even_out(struct heap *heap, size_t cap, size_t bytes)
{
    size_t before = heap->cache_bytes;
    for (unsigned i = 0; i < MARK_COUNT && before - heap->cache_bytes < bytes; i++) {
        unsigned mark = heap->evened = heap->evened % (MARK_COUNT - 1) + 1;
        struct stock *stock = heap_stock(heap, mark);
        if (stock == NULL || size_of(mark) <= SMALL_MAX || stock->cap <= cap + cap / 4 + 4)
            continue;
        bin_lower(heap, mark, stock, (uint16_t)(stock->cap - (stock->cap - cap) / 4));
    }
    if (before - heap->cache_bytes < bytes) /* all bins were looked at */
        heap->even_from = heap->turns + STEAL_EVERY;
}

/* By how many blocks the bin may grow: to what its stock, or one twice as long, has room for, as
 * far as the heap's allowance goes. Bins that served another phase of the program make room. */
static size_t may_grow(struct heap *heap, unsigned mark, const struct stock *stock)
{
    size_t size = size_of(mark), allowed = bins_allowance(heap, size), cap = stock->cap;
    size_t max = cap < stock->room ? stock->room : room_of(2 * stock_bytes(stock));
    size_t more = size <= SMALL_MAX || max < 2 * cap ? max - cap : cap;
    if (cap == stock->room && 2 * stock_bytes(stock) > STOCK_MAX)
        return 0;
    if (heap->cache_bytes + more * size > allowed &&
        heap->turns - heap->stolen_turns >= STEAL_EVERY) {
        heap->stolen_turns = heap->turns;
        bins_empty_idle(heap, mark);
    }
    if (size > SMALL_MAX && heap->cache_bytes + (cap / 8 + 1) * size > allowed &&
        (int32_t)(heap->turns - heap->even_from) >= 0)
        bins_even_out(heap, cap, (cap / 8 + 1) * size);
    size_t left = heap->cache_bytes < allowed ? (allowed - heap->cache_bytes) / size : 0;
    if (cap + left < bin_fair(heap, size))
        left = bin_fair(heap, size) - cap;
    size_t bound = bin_bound(heap, mark);
    left = bound <= cap ? 0 : left < bound - cap ? left : bound - cap;
    more = left < more ? left : more;
    return more >= cap / 8 + 1 ? more : 0;
}

/* Lets the bin hold more, if the heap's allowance and memory permit. */
static bool stock_grow(struct heap *heap, unsigned mark)
{
    struct stock *old = heap_stock(heap, mark), *stock = old;
    size_t more = may_grow(heap, mark, old), cap = old->cap + more, bytes = 2 * stock_bytes(old);
    if (more == 0 || (cap > old->room && (stock = meta_take(bytes)) == NULL))
        return false;
    bool hidden = heap_hide(heap);
    size_t count = heap_cached(heap, mark);
    if (stock != old) {
        bin_shut(heap, mark);
        memcpy(stock, old, sizeof *old);
        memcpy(stock->slots, old->slots, (count + 1) * sizeof stock->slots[0]);
        stock->room = (uint16_t)room_of(bytes);
    }
    heap->cache_bytes += more * size_of(mark);
    stock->cap = (uint16_t)cap;
    bin_clock_bound(heap, mark, stock);
    bin_set(heap, mark, stock, count);
    if (hidden)
        heap_show(heap);
    if (stock != old)
        meta_give(old, stock_bytes(old));
    return true;
}

/* A bin that may hold no block may hold some now, or still none. Now and then idle ones make room
 * for it. */
static bool bin_open(struct heap *heap, unsigned mark, struct stock *stock)
{
    if (bins_budgeted(heap) && heap->turns++ - heap->stolen_turns >= STEAL_EVERY) {
        heap->stolen_turns = heap->turns;
        bins_empty_idle(heap, mark);
    }
    stock->cap = cap_first(heap, mark);
    stock->batch = 1;
    heap->cache_bytes += stock->cap * size_of(mark);
    if (stock->cap > 0)
        bin_set(heap, mark, stock, 0);
    return stock->cap > 0;
}

/* With `harden`. Each fourth changes places with one of those near it: if all did, neighbours in
 * time would not be neighbours in memory, which costs python half of its speed. */
static void blocks_shuffle(uint64_t *random, void **blocks, unsigned count)
{
    enum { NEAR = 32, ONE_IN = 4 }; /* near: of 64 bytes, half a page */
    for (unsigned i = 0; i < count; i += ONE_IN) {
        unsigned rest = count - i, other = i + harden_random(random, rest < NEAR ? rest : NEAR);
        void *block = blocks[i];
        blocks[i] = blocks[other];
        blocks[other] = block;
    }
}

bool heap_refill(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL && (stock = stock_make(heap, mark)) == NULL)
        return false;
    if (unlikely(stock->cap == 0) && !bin_open(heap, mark, stock))
        return false;
    bin_turn(heap, stock);
    if (stock->swings < GROW_SWINGS)
        stock->swings += 2;
    if (stock->swings >= GROW_SWINGS && stock->batch >= stock->cap / 2 &&
        bin_is_eager(heap, mark, stock) && stock_grow(heap, mark))
        stock = heap_stock(heap, mark);
    bool hidden = heap_hide(heap);
    if (unlikely(heap_cached(heap, mark) > 0)) { /* a signal handler has freed some */
        if (hidden)
            heap_show(heap);
        return true;
    }
    bin_shut(heap, mark);
    unsigned list = heap->watched ? CENTRAL_WATCHED + mark_class(mark) : mark;
    void **blocks = (void **)(stock->slots + 1);
    unsigned wanted = stock->batch, got = central_take(heap->pool, list, blocks, wanted);
    if (unlikely(heap->delay != NULL))
        blocks_shuffle(&heap->delay->random, blocks + (wanted - got), got);
    for (unsigned i = 1; i <= got; i++)
        stock->slots[i] = slot_make(blocks[wanted - got + i - 1], i);
    stock->taken += got;
    unsigned half = stock->cap > 1 ? stock->cap / 2u : 1, twice = stock->batch * 2u;
    stock->batch = (uint16_t)(twice < half ? twice : half);
    bin_set(heap, mark, stock, got);
    bin_note(heap, mark);
    if (hidden)
        heap_show(heap);
    return got > 0;
}

bool heap_uncached(const struct heap *heap, unsigned mark)
{
    const struct stock *stock = heap_stock(heap, mark);
    return stock != NULL && stock->cap == 0;
}

void *heap_take_one(struct heap *heap, unsigned mark)
{
    void *block = NULL;
    if (central_take(heap->pool, mark, &block, 1) == 0)
        return NULL;
    heap_stock(heap, mark)->taken++;
    return block;
}

void *heap_pop(struct heap *heap, unsigned mark)
{
    uint64_t top = heap->top[mark];
    if (top == 0 && heap_refill(heap, mark))
        top = heap->top[mark];
    if (top == 0)
        return NULL;
    bin_pop(heap, mark, slot_place(top));
    add_relaxed(&heap_stock(heap, mark)->drawn, 1);
    return slot_block(top);
}

void *heap_pop_watched(struct heap *heap, unsigned mark)
{
    /* Ends: each turn takes a block from the bin, and refills bring watched ones. */
    for (;;) {
        uint64_t top = heap->top[mark];
        if (top == 0) {
            if (!heap_refill(heap, mark))
                return NULL;
            continue;
        }
        struct stock *stock = heap_stock(heap, mark);
        void *block = slot_block(top);
        bin_pop(heap, mark, slot_place(top));
        if (likely(span_of(block)->kinds & KIND_RECORDED)) {
            add_relaxed(&stock->drawn, 1);
            store_relaxed(&heap->clock[mark], 0);
            return block;
        }
        stock->taken--; /* from before all were watched, and freed since */
        central_give(&block, 1);
    }
}

static bool bin_full(const struct heap *heap, unsigned mark)
{
    return slot_place(heap->top[mark]) == heap->limit[mark];
}

bool heap_push_watched(struct heap *heap, unsigned mark, void *block)
{
    if (bin_full(heap, mark) && !heap_spill(heap, mark))
        return false;
    bin_push(heap, mark, slot_place(heap->top[mark]), block);
    return true;
}

bool heap_popped_lately(const struct heap *heap, unsigned mark, const void *block)
{
    const struct stock *stock = heap_stock(heap, mark);
    for (size_t i = heap_cached(heap, mark) + 1; stock != NULL && i <= stock->cap; i++)
        if (slot_block(stock->slots[i]) == block)
            return true;
    return false;
}

void heap_push_waiting(struct heap *heap, unsigned mark, void *block)
{
    struct delay_queue *queue = &heap->delay->queues[mark];
    void **place = delay_place(queue);
    if (*place == NULL) {
        store_relaxed(place, block);
        delay_next(heap->delay, queue);
        store_relaxed(&queue->waiting, queue->waiting + 1);
        return;
    }
    if (bin_full(heap, mark))
        heap_spill(heap, mark);
    heap_push_delayed(heap, mark, queue, place, block);
}

static void delay_give(struct heap *heap)
{
    void *block;
    while (heap->delay != NULL && (block = delay_take_any(heap->delay)) != NULL) {
        struct stock *stock = heap_stock(heap, window.kinds[unit_of(block)]);
        if (stock != NULL)
            stock->taken--;
        central_give(&block, 1);
    }
}

/* The `count` lowest slots, which were used longest ago, go home. */
static void bin_give(struct heap *heap, unsigned mark, unsigned count)
{
    struct stock *stock = heap_stock(heap, mark);
    bool hidden = heap_hide(heap); /* what is counted now must not be popped by a signal handler */
    size_t had = heap_cached(heap, mark), rest = had > count ? had - count : 0;
    count = (unsigned)(had - rest);
    if (count > 0) {
        bin_shut(heap, mark);
        void **blocks = (void **)(stock->slots + 1);
        for (unsigned i = 0; i < count; i++)
            blocks[i] = slot_block(stock->slots[i + 1]);
        central_give(blocks, count);
        stock->taken -= count;
        for (size_t i = 1; i <= rest; i++)
            stock->slots[i] = stock->slots[i + count] - count;
        bin_set(heap, mark, stock, rest);
        bin_note(heap, mark);
    }
    if (hidden)
        heap_show(heap);
}

bool heap_spill(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock == NULL && (stock = stock_make(heap, mark)) == NULL)
        return false;
    if (unlikely(stock->cap == 0))
        return bin_open(heap, mark, stock);
    if (!bin_full(heap, mark))
        return true; /* it was not full: another thread has just freed the block */
    bin_turn(heap, stock);
    /* Emptied and filled in turn: more room pays. Only ever filled: up to a fair batch. */
    bool swings = stock->swings >= GROW_SWINGS, fills_only = stock->swings == 0;
    stock->swings = swings ? 0 : (uint8_t)(stock->swings - !fills_only);
    bool pays =
        swings || bin_is_busy(heap, mark, stock) || (fills_only && bin_may_fill(heap, mark, stock));
    if (pays && stock_grow(heap, mark))
        return true;
    stock = heap_stock(heap, mark);
    bin_give(heap, mark, (stock->cap + 1u) / 2);
    return true;
}

void bins_trim(struct heap *heap, size_t bytes)
{
    /* Many threads may be ending at this moment: each begins elsewhere, and comes back later to the
     * lists that others are at. */
    enum { ROUNDS = 4, BINS = MARK_COUNT - 1 };
    bool left = true;
    spares_give(heap);
    delay_give(heap);
    for (unsigned round = 1; left && round <= ROUNDS; round++) {
        left = false;
        for (unsigned i = 0; i < BINS; i++) {
            unsigned mark = (heap->tid + i) % BINS + 1;
            size_t count = heap_cached(heap, mark), keep = count == 0 ? 0 : bytes / size_of(mark);
            if (count <= keep)
                continue;
            if (round < ROUNDS && central_busy(heap->pool, mark))
                left = true;
            else
                bin_give(heap, mark, (unsigned)(count - keep));
        }
    }
}

void heap_bound(struct heap *heap)
{
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        size_t bound = bin_bound(heap, mark);
        if (stock != NULL && stock->cap > bound)
            bin_lower(heap, mark, stock, (uint16_t)bound);
    }
}

void heap_flush(struct heap *heap)
{
    bins_trim(heap, 0);
}

RACY size_t heap_cached(const struct heap *heap, unsigned mark)
{
    return slot_place(load_relaxed(&heap->top[mark]));
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
    return heap_mallocs(heap, mark) + heap_cached(heap, mark) + delay_count(heap->delay, mark) -
           (uint64_t)stock->taken;
}
