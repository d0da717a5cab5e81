/* SPDX-License-Identifier: MIT */
/*
 * Counts of heaps in the recorder file: at every moment its rows lack no more mallocs than
 * promised, whichever bins they come from, and threads do not come by more often for that than they
 * must, also while there are many free pages.
 */
#include "tests/unit/unit.h"

#include <sys/mman.h>

#include "lib/heap/counts.h"
#include "lib/watch/watch.h"

enum { SLOTS = 4000, FIRST = 1, FREED = 1000 };

static uint64_t mallocs[MARK_COUNT];
static unsigned rings; /* of clocks */

/* As lib/api/cold_take.c: the clock of the bin has run out. */
static void ring(struct heap *heap, unsigned mark, uint64_t *random)
{
    rings++;
    if (heap_clock_over(heap, mark)) {
        heap_set_clock(heap, mark, unit_random(random) % 3000 + 1);
        counts_ring(heap, mark, true);
    } else {
        counts_ring(heap, mark, false);
    }
}

static void *take(struct heap *heap, unsigned mark, uint64_t *random)
{
    for (;;) {
        void *block = unit_pop(heap, mark);
        if (block != NULL) {
            mallocs[mark]++;
            return block;
        }
        if (heap->clock[mark] < 0)
            ring(heap, mark, random);
        else
            assert(heap_refill(heap, mark));
        counts_bin(heap, mark);
    }
}

/* What the file does not know yet. */
static uint64_t unseen(void)
{
    uint64_t sum = 0;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        uint64_t seen = 0;
        for (unsigned row = 0; row < 2; row++) {
            const struct recorder_heap *heap = mirror_row(SHEET_HEAPS, row);
            seen += heap == NULL ? 0 : heap->marks[mark].allocs;
        }
        assert(seen <= mallocs[mark]);
        sum += mallocs[mark] - seen;
    }
    return sum;
}

/* Sizes at random up to that of `class`; every `odd`-th block is of one class. */
static void operate(struct heap *heap, unsigned count, unsigned class, unsigned odd,
                    uint64_t *random)
{
    static void *blocks[SLOTS];
    uint64_t max = 0;
    rings = 0;
    for (unsigned i = 0; i < count; i++) {
        void **slot = &blocks[unit_random(random) % SLOTS];
        unsigned any = (unsigned)(unit_random(random) % class) + 1;
        unsigned mark = mark_make(i % odd == 0 ? FIRST : any, heap->colour);
        if (*slot != NULL)
            unit_free(heap, *slot);
        *slot = take(heap, mark, random);
        if (i % 8 == 0) {
            uint64_t now = unseen();
            max = now > max ? now : max;
        }
    }
    for (unsigned i = 0; i < SLOTS; i++)
        if (blocks[i] != NULL)
            unit_free(heap, blocks[i]);
    memset(blocks, 0, sizeof blocks);
    assert(max <= COUNTS_UNSEEN_MAX);
}

/* The file stays open. */
static int never_again(void)
{
    return -1;
}

int main(void)
{
    uint64_t random = 88172645463325252;
    unit_start();
    int fd = memfd_create("counts", MFD_CLOEXEC);
    assert(fd >= 0 && mirror_open(fd, never_again, 16 << 20, true) == 0);
    mirror_show();
    counts_copy();
    struct heap *heap = unit_heap(0, 0);
    lock_take(&heap_lock); /* as in a signal handler that interrupted its holder: no wait */
    counts_bin(heap, mark_make(FIRST, heap->colour));
    lock_give(&heap_lock);
    counts_adopt(heap);
    unsigned count = unit_times(400000);
    for (unsigned thread = 0; thread < 2; thread++) {
        heap->part = 1; /* as when a thread gets the heap; it grows with each visit */
        operate(heap, count, 1, 1 << 30, &random); /* one bin alone */
        assert(rings < count / 150);
    }
    for (unsigned freed = 0; freed < 2; freed++) {
        operate(heap, count, 40, 1 << 30, &random); /* all bins alike */
        assert(rings < count / 150);
        operate(heap, count, 40, 2, &random); /* one more than all others */
        assert(rings < count / 120);
        operate(heap, count, 3, 1 << 30, &random); /* a few after many */
        assert(rings < count / 90);
        struct span *span = pages_take(0, FREED, 1);
        assert(span != NULL);
        span->zero = false; /* as if it had been written to */
        pages_give(span);
        assert(pages_of[0].dirty_units >= FREED);
    }
    mirror_forget();
    return 0;
}
