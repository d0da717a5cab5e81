/* SPDX-License-Identifier: MIT */
/* See lib/api/elsewhere.h. */
#include "lib/api/elsewhere.h"

#include "lib/alloc/alloc.h"
#include "lib/api/cold_inside.h"
#include "lib/heap/observer.h"

static void begins(size_t usable, bool lent);
static void count(struct heap_sums sums, bool lent);

void *elsewhere_take(size_t size, size_t align, bool *zero)
{
    void *block = outside_take(size, align, zero);
    if (block == NULL)
        return NULL;
    begins(outside_size(block), false);
    return block;
}

static void begins(size_t usable, bool lent)
{
    count((struct heap_sums){.allocs = 1, .alloc_bytes = usable}, lent);
    if (!lent && sampler_rate() == SAMPLER_EXACT)
        track_lost();
    track_left_out();
    cold_look_at_peak();
}

/* Blocks in memory that the program lends are counted by its lender, and not by their sizes. */
static void count(struct heap_sums sums, bool lent)
{
    if (lent)
        cold_large_sum(NULL, sums);
    else
        cold_large_count(NULL, sums);
    account_elsewhere(CLASS_COUNT, sums.alloc_bytes, true);
    account_elsewhere(CLASS_COUNT, sums.free_bytes, false);
}

void elsewhere_lent(size_t usable)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return;
    begins(usable, true);
    cold_end();
}

void elsewhere_resized(size_t before, size_t now)
{
    struct caller here = CALLER_HERE;
    if (before == now || !cold_begin(&here))
        return;
    count((struct heap_sums){1, 1, now, before}, true);
    cold_look_at_peak();
    cold_end();
}

void elsewhere_ended(uint64_t blocks, uint64_t bytes)
{
    struct caller here = CALLER_HERE;
    if (blocks == 0 || !cold_begin(&here))
        return;
    count((struct heap_sums){.frees = blocks, .free_bytes = bytes}, true);
    cold_end();
}

bool elsewhere_free(void *p)
{
    struct lender *freed = NULL;
    size_t size = elsewhere_size(p);
    if (size == 0)
        return false;
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return true; /* in a signal handler that interrupted the allocator: the block is lost,
                        which is harmless */
    bool lent = lent_size(p) != 0;
    if (lent ? !lent_give(p, &freed) : !outside_give(p))
        fatal_freed_twice(p, size);
    count((struct heap_sums){.frees = 1, .free_bytes = size}, lent);
    cold_end();
    if (freed != NULL && freed->freed != NULL)
        freed->freed(freed);
    return true;
}

size_t elsewhere_size(const void *p)
{
    size_t size = lent_size(p);
    return size != 0 ? size : outside_size(p);
}
