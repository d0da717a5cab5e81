/* SPDX-License-Identifier: MIT */
/*
 * The clocks of a heap's bins. A clock counts down the mallocs until the next one that is a sample;
 * it is set in parts, so that a busy thread comes by now and then whatever the wait: to return idle
 * memory, to notice a peak, to tell other threads what its bins hold.
 */
#include "lib/alloc/bin.h"
#include "lib/alloc/held.h"

enum {
    /* Mallocs from one bin until the thread comes by, sample or not. Visits are longer than
     * mallocs, so they are to be rare; a busy thread still comes by often. */
    PART_MAX = 1024,
    PART_DIRTY = 128,   /* while there are more than DIRTY_MUCH free pages to be returned */
    PART_HURRY = 8,     /* after many became free: the thread may have little to do from now on */
    PART_SLOW_MS = 100, /* it should not take longer than this */
    DIRTY_MUCH = 1 << 20 >> UNIT_SHIFT,
    /* A bin that may hold more bytes than this is visited once in this many bytes of mallocs: no
     * other thread sees fast ones, and they may lead to a new peak. */
    UNSEEN_BYTES = 128 << 10,
    UNSEEN_MIN = 128, /* but at most once in this many mallocs */
    /* While a new peak is near, each clock that ends notes its own bin, and one in this many all
     * bins. All at each one took 0.6 of 12 ns a pair of 4 to 32,768 bytes; with 5, peaks of many
     * sizes up to 1 KiB are missed by 1.0 instead of 0.6 %. */
    NOTE_ALL = 5,
};

static uint64_t note_above;

void bins_note_above(uint64_t held)
{
    store_relaxed(&note_above, held);
}

/* How many mallocs from the bin may pass without a slow visit, for the sake of the peak. */
static uint32_t unseen_max(unsigned mark, const struct stock *stock)
{
    uint32_t size = (uint32_t)class_size(mark_class(mark)), max;
    if (stock->cap * size <= UNSEEN_BYTES)
        return PART_MAX;
    max = UNSEEN_BYTES / size;
    return max < UNSEEN_MIN ? UNSEEN_MIN : max > PART_MAX ? PART_MAX : max;
}

/* Makes the rest of this part of the wait at most `max` mallocs long. */
static void clock_shorten(struct heap *heap, unsigned mark, struct stock *stock, uint32_t max)
{
    if (heap->clock[mark] <= (int32_t)max)
        return;
    uint32_t rest = (uint32_t)heap->clock[mark] - max;
    stock->wait += rest;
    add_relaxed(&stock->drawn, -(uint64_t)rest);
    store_relaxed(&heap->clock[mark], (int32_t)max);
}

void bin_clock_bound(struct heap *heap, unsigned mark, struct stock *stock)
{
    clock_shorten(heap, mark, stock, unseen_max(mark, stock));
}

static uint32_t part_bytes = UINT32_MAX;

void bins_part(uint32_t bytes)
{
    store_relaxed(&part_bytes, bytes);
}

/* How long a part may be that was to have `max` mallocs. */
static uint32_t part_max(unsigned mark, const struct stock *stock, uint32_t max)
{
    uint32_t bytes = load_relaxed(&part_bytes) / (uint32_t)class_size(mark_class(mark));
    uint32_t unseen = unseen_max(mark, stock);
    max = bytes == 0 ? 1 : bytes < max ? bytes : max;
    return max < unseen ? max : unseen;
}

/* Sets the clock for the next part of the wait. */
static void clock_part(struct heap *heap, unsigned mark, struct stock *stock)
{
    uint32_t max = part_max(mark, stock, heap->part);
    uint32_t part = stock->wait < max ? stock->wait : max;
    stock->wait -= part;
    add_relaxed(&stock->drawn, part);
    store_relaxed(&heap->clock[mark], (int32_t)part);
}

uint32_t heap_part_max(const struct heap *heap, unsigned mark, uint32_t max)
{
    max = max < heap->part ? max : heap->part;
    if (max > UNSEEN_MIN || load_relaxed(&part_bytes) != UINT32_MAX)
        max = part_max(mark, heap_stock(heap, mark), max);
    return max;
}

/* A part has passed: the next one is longer, or much shorter if this one took long. */
static void pace(struct heap *heap)
{
    bool slow = heap->came_ms - heap->part_ms > PART_SLOW_MS;
    size_t dirty = load_relaxed(&pages_of[pages_node(heap->pool)].dirty_units);
    uint32_t max = dirty > DIRTY_MUCH ? PART_DIRTY : PART_MAX;
    heap->part_ms = heap->came_ms;
    heap->part = slow ? heap->part / 4 + 1 : heap->part * 2 < max ? heap->part * 2 : max;
}

void bins_hurry(struct heap *heap, uint32_t now_ms)
{
    size_t dirty = load_relaxed(&pages_of[pages_node(heap->pool)].dirty_units);
    if (dirty <= heap->dirty_seen + DIRTY_MUCH) {
        heap->dirty_seen = dirty < heap->dirty_seen ? dirty : heap->dirty_seen;
        return;
    }
    if (now_ms - heap->hurried_ms < PART_SLOW_MS)
        return;
    heap->dirty_seen = dirty;
    heap->hurried_ms = now_ms;
    heap->part = PART_HURRY;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        struct stock *stock = heap_stock(heap, mark);
        if (stock != NULL)
            clock_shorten(heap, mark, stock, PART_HURRY);
    }
}

void heap_set_clock(struct heap *heap, unsigned mark, uint64_t blocks)
{
    struct stock *stock = heap_stock(heap, mark);
    int32_t left = heap->clock[mark];
    add_relaxed(&stock->drawn, -(uint64_t)(left < 0 ? 0 : left));
    stock->armed = blocks <= UINT32_MAX; /* else only a pause: the wait is drawn anew then */
    stock->wait = stock->armed ? (uint32_t)blocks : UINT32_MAX;
    clock_part(heap, mark, stock);
}

bool heap_clock_over(struct heap *heap, unsigned mark)
{
    struct stock *stock = heap_stock(heap, mark);
    if (stock->wait == 0) {
        bin_note(heap, mark); /* all bins would be too many for large blocks: most are samples */
        return true;
    }
    if (held_bytes() > load_relaxed(&note_above)) {
        if (++heap->rings % NOTE_ALL == 0)
            bins_note(heap);
        else
            bin_note(heap, mark);
    }
    /* The malloc that found the clock at its end is the first of the next part. */
    pace(heap);
    clock_part(heap, mark, stock);
    return false;
}
