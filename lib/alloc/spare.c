/* SPDX-License-Identifier: MIT */
/* See lib/alloc/spare.h. */
#include "lib/alloc/spare.h"

#include "base/config.h"
#include "lib/alloc/bin.h"
#include "lib/alloc/central.h"

enum {
    THREADS_MAX = 16, /* spares are kept while no more threads than these are alive: two blocks of
                         each class lie idle in each heap, */
    CACHE_MIN = 1 << 20, /* and the option `cache` is at least this many bytes */
    /* A heap's spares may take this many bytes, room for one of the largest, for the pages of a
     * small program are few, */
    BYTES = BLOCK_MAX,
    SHARE = 64, /* plus its part of one in this many bytes in use */
};

static void **spares_of(struct heap *heap, unsigned class);
static struct stock *own_stock(const struct heap *heap, unsigned class);

void *spare_take(struct heap *heap, unsigned class)
{
    void *block = NULL;
    for (unsigned i = 0; class >= SPARE_FIRST && block == NULL && i < SPARES; i++) {
        void **spare = spares_of(heap, class) + i;
        if ((block = *spare) != NULL)
            store_relaxed(spare, NULL);
    }
    if (block != NULL) { /* counted as if it came through the bin */
        struct stock *stock = own_stock(heap, class);
        add_relaxed(&stock->drawn, 1);
        stock->taken++;
    }
    return block;
}

static void **spares_of(struct heap *heap, unsigned class)
{
    return heap->spares + (class - SPARE_FIRST) * SPARES;
}

/* The stock of the bin that the heap gives blocks of the class from. */
static struct stock *own_stock(const struct heap *heap, unsigned class)
{
    return heap_stock(heap, mark_make(class, heap->colour));
}

static bool has_room(const struct heap *heap, size_t size)
{
    uint32_t threads = heap_threads();
    if (threads > THREADS_MAX || config.cache < CACHE_MIN)
        return false;
    size_t more = bins_used_bytes(heap) / SHARE / (threads == 0 ? 1 : threads);
    return spares_bytes(heap) + size <= BYTES + more;
}

bool spare_keep(struct heap *heap, unsigned class, void *block)
{
    struct stock *stock = own_stock(heap, class);
    if (class < SPARE_FIRST || stock == NULL || stock->cap == 0 ||
        !has_room(heap, class_size(class)))
        return false;
    for (unsigned i = 0; i < SPARES; i++) {
        void **spare = spares_of(heap, class) + i;
        if (*spare == NULL) {
            stock->taken--;
            store_relaxed(spare, block);
            return true;
        }
    }
    return false;
}

RACY unsigned spare_count(const struct heap *heap, unsigned mark)
{
    unsigned count = 0, class = mark_class(mark);
    if (class < SPARE_FIRST || class >= CLASS_COUNT || mark != mark_make(class, heap->colour))
        return 0;
    for (unsigned i = 0; i < SPARES; i++)
        count += load_relaxed(&heap->spares[(class - SPARE_FIRST) * SPARES + i]) != NULL;
    return count;
}

RACY size_t spares_bytes(const struct heap *heap)
{
    size_t bytes = 0;
    for (unsigned class = SPARE_FIRST; class < CLASS_COUNT; class ++) {
        const void *const *spares =
            (const void *const *)heap->spares + (class - SPARE_FIRST) * SPARES;
        for (unsigned i = 0; i < SPARES; i++)
            bytes += load_relaxed(&spares[i]) != NULL ? class_size(class) : 0;
    }
    return bytes;
}

void spares_give(struct heap *heap)
{
    for (unsigned i = 0; i < COUNT_OF(heap->spares); i++) {
        void *block = heap->spares[i];
        store_relaxed(&heap->spares[i], NULL);
        if (block != NULL)
            central_give(&block, 1);
    }
}
