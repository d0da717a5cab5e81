/* SPDX-License-Identifier: MIT */
/*
 * How much the bins of a heap may hold: a share of the memory in use in all, less where there are
 * very many threads; and what the program has said, in all (the option `cache.total`) or for a
 * class (`struct heap_cache`). Asked by bin.c, off the hot path.
 */
#include "base/config.h"
#include "lib/alloc/bin.h"
#include "lib/alloc/held.h"
#include "lib/window/window.h"

enum {
    /* Refills again and again make it grow while it is below both of these. In bytes it is a share
     * of what the program uses: a program of 2 MiB is not to have 1 MiB in bins. */
    CAP_EAGER = 128,            /* blocks */
    CAP_EAGER_BYTES = 16 << 10, /* bytes, */
    CAP_EAGER_SHARE = 32,       /* plus one in this many of the bytes in use */
    /* Only ever filled (blocks of other colours, which no malloc here takes), it grows while it is
     * also below either of these: what it holds helps only to go home in fewer visits. */
    CAP_FILLED = 32,            /* blocks */
    CAP_FILLED_BYTES = 4 << 10, /* bytes */
    /* Beyond all these limits it grows while it is below both of these, if at least BUSY_TURNS of
     * some hundred refills and spills of the heap are its own. A thread that makes blocks and one
     * that frees them meet at the centre each time: with 64 and 16 blocks a visit, a quarter of
     * their time was spent there. */
    CAP_BUSY = 1024,           /* blocks */
    CAP_BUSY_BYTES = 16 << 10, /* bytes, */
    CAP_BUSY_SHARE = 64,       /* plus one in this many of the bytes in use */
    BUSY_TURNS = 8,
    STRETCH = 64, /* see `stock.lately` */
    LATELY_MAX = 15,
    /* Up to here a bin may grow whatever the other bins hold: */
    CAP_FAIR_BYTES = 8 << 10, /* bytes; less where there are many threads, */
    CAP_FAIR_CROWD = 1 << 10, /* but at least this many bytes */
    /* At most this many bytes in all bins of a heap, and never more than the option `cache`: */
    CACHE_SMALL = 1 << 20, /* for a bin of blocks up to 1 KiB to grow, */
    CACHE_MIN = 128 << 10, /* and for a bin of larger ones; */
    CACHE_SHARE = 1,       /* plus the thread's part of one in this many bytes not in bins, */
    CACHE_CROWD = 6,       /* or one in this many where there are very many threads, */
    CACHE_WATCHED = 16, /* or one in this many while every block is recorded: bins blur the peak */
    CROWD = 128,        /* more threads than this share what this many may have: 10,000 threads had
                           450 MiB in bins beside 171 in use, */
    CROWD_LARGE = 1024, /* and more than this are very many; from 250 threads on, with 1 to 8 KiB,
                           the smaller share cost half as much CPU time again */
};

struct heap_cache heap_cache_first = {.max = BLOCK_MAX};

void bin_turn(struct heap *heap, struct stock *stock)
{
    uint8_t stretch = (uint8_t)(heap->turns++ / STRETCH);
    uint8_t since = (uint8_t)(stretch - stock->stretch);
    unsigned lately = since == 0 ? stock->lately : since == 1 ? stock->lately / 2u : 0;
    stock->lately = (uint8_t)(lately < LATELY_MAX ? lately + 1 : LATELY_MAX) & LATELY_MAX;
    stock->stretch = stretch;
}

/* Whether the bin's blocks take fewer bytes than these and a share of the memory in use. */
static bool is_below(const struct heap *heap, unsigned mark, const struct stock *stock,
                     size_t bytes, size_t share)
{
    size_t held = stock->cap * class_size(mark_class(mark));
    return held < bytes + bins_used_bytes(heap) / share;
}

bool bin_is_busy(const struct heap *heap, unsigned mark, const struct stock *stock)
{
    return stock->lately >= BUSY_TURNS && stock->cap < CAP_BUSY &&
           is_below(heap, mark, stock, CAP_BUSY_BYTES, CAP_BUSY_SHARE);
}

static bool has_little(const struct heap *heap, unsigned mark, const struct stock *stock)
{
    return stock->cap < CAP_EAGER && is_below(heap, mark, stock, CAP_EAGER_BYTES, CAP_EAGER_SHARE);
}

bool bin_is_eager(const struct heap *heap, unsigned mark, const struct stock *stock)
{
    return has_little(heap, mark, stock) || bin_is_busy(heap, mark, stock);
}

bool bin_may_fill(const struct heap *heap, unsigned mark, const struct stock *stock)
{
    size_t held = stock->cap * class_size(mark_class(mark));
    return (stock->cap < CAP_FILLED || held < CAP_FILLED_BYTES) && has_little(heap, mark, stock);
}

size_t bins_used_bytes(const struct heap *heap)
{
    return load_relaxed(&pages_of[pages_node(heap->pool)].used_units) << UNIT_SHIFT;
}

/* A thread's part of `bytes`, which each may have while they are few. */
static size_t part_of(size_t bytes)
{
    uint32_t alive = heap_threads();
    return alive <= CROWD ? bytes : bytes * CROWD / alive;
}

/* Bytes in use that are not in bins, about: or else full bins would let bins grow. */
static size_t used_elsewhere(const struct heap *heap)
{
    size_t used = bins_used_bytes(heap), in_bins = (size_t)held_in_bins();
    return used - (in_bins < used / 2 ? in_bins : used / 2);
}

size_t bins_allowance(const struct heap *heap, size_t size)
{
    uint32_t alive = heap_threads();
    alive = alive == 0 ? 1 : alive;
    unsigned share = alive > CROWD_LARGE ? CACHE_CROWD : CACHE_SHARE;
    share = heap->watched ? CACHE_WATCHED : share;
    size_t bytes = part_of(size <= SMALL_MAX ? CACHE_SMALL : CACHE_MIN);
    bytes += used_elsewhere(heap) / share / alive;
    size_t total = load_relaxed(&config.cache_total);
    if (total != 0 && bytes > total / alive)
        bytes = total / alive;
    return bytes < config.cache ? bytes : config.cache;
}

size_t bin_fair(const struct heap *heap, size_t size)
{
    size_t bytes = part_of(CAP_FAIR_BYTES);
    return bins_budgeted(heap) ? 0 : (bytes > CAP_FAIR_CROWD ? bytes : CAP_FAIR_CROWD) / size;
}

/* Bins of watched blocks, and those that freed blocks wait in front of, always hold some: all
 * blocks go through them. */
static bool may_hold_none(const struct heap *heap)
{
    return !heap->watched && heap->delay == NULL;
}

size_t bin_bound(const struct heap *heap, unsigned mark)
{
    const struct heap_cache *cache = &heap->cache;
    unsigned class = mark_class(mark);
    if (likely(!cache->bounded) || !may_hold_none(heap))
        return SIZE_MAX;
    return cache->off || class_size(class) > cache->max ? 0 : cache->bounds[class];
}

bool bins_budgeted(const struct heap *heap)
{
    return unlikely(load_relaxed(&config.cache_total) != 0) && may_hold_none(heap);
}

size_t bin_max(const struct heap *heap, unsigned mark)
{
    size_t bound = bin_bound(heap, mark), size = class_size(mark_class(mark));
    if (!bins_budgeted(heap))
        return bound;
    size_t allowed = bins_allowance(heap, size);
    size_t left = heap->cache_bytes < allowed ? (allowed - heap->cache_bytes) / size : 0;
    return left < bound ? left : bound;
}
