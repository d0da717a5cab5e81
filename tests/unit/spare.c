/* SPDX-License-Identifier: MIT */
/* Spares: watched blocks that wait in a heap are counted, go home, and take little memory. */
#include "lib/alloc/spare.h"

#include "tests/unit/unit.h"

#include "lib/alloc/account.h"
#include "lib/alloc/bin.h"
#include "lib/alloc/heap.h"

/* A freed watched block waits for the next sample. All sums are as if it had gone home. */
static void spares_are_counted_and_go_home(unsigned class, unsigned colour)
{
    heap_drop_parked(0, 0);
    struct heap *heap = unit_heap(colour, 0);
    unsigned list = CENTRAL_WATCHED + class, mark = mark_make(class, heap->colour);
    const struct central *central = central_peek(0, list);
    struct account_sum before, now;
    unit_free(heap, unit_malloc(heap, class)); /* the class has a bin */
    account_class(class, &before);
    for (unsigned turn = 1; turn <= 3; turn++) {
        void *block = spare_take(heap, class);
        assert((block != NULL) == (turn > 1));
        if (block == NULL)
            block = central_take_one(0, list);
        account_class(class, &now);
        assert(now.allocs == before.allocs + turn &&
               account_live(&now) == account_live(&before) + 1);
        assert(spare_keep(heap, class, block));
        account_class(class, &now);
        assert(now.frees == before.frees + turn && account_live(&now) == account_live(&before));
    }
    assert(spare_count(heap, mark) == 1 && load_relaxed(&central->out) == 1);
    assert(spare_count(heap, mark_make(class, colour + 1)) == (class > CLASS_SMALL_LAST));
    assert(spare_take(heap, 1) == NULL && !spare_keep(heap, 1, NULL)); /* small: none */
    heap_flush(heap);
    assert(spare_count(heap, mark) == 0 && load_relaxed(&central->out) == 0);
    assert(spare_take(heap, class) == NULL);
    heap_end(heap);
    heap_drop_parked(0, 0);
}

/* A small program has little memory, so it keeps few of them. */
static void spares_take_little_memory(void)
{
    heap_drop_parked(0, 0);
    struct heap *heap = unit_heap(0, 0);
    size_t refused = 0;
    for (unsigned class = SPARE_FIRST; class < CLASS_COUNT; class ++) {
        unit_free(heap, unit_malloc(heap, class)); /* the class has a bin */
        void *block = central_take_one(0, CENTRAL_WATCHED + class);
        assert(block != NULL);
        size_t max = BLOCK_MAX + bins_used_bytes(heap) / 64;
        if (!spare_keep(heap, class, block)) {
            central_give(&block, 1);
            refused++;
        }
        assert(spares_bytes(heap) <= max);
    }
    assert(refused > 0 && spares_bytes(heap) > 0);
    heap_end(heap);
    heap_drop_parked(0, 0);
}

int main(void)
{
    unit_start();
    spares_are_counted_and_go_home(CLASS_LAST, 0);
    spares_are_counted_and_go_home(CLASS_SMALL_LAST, 1);
    spares_take_little_memory();
    return 0;
}
