/* SPDX-License-Identifier: MIT */
/* See lib/api/elsewhere.h. */
#include "lib/api/elsewhere.h"

#include "lib/alloc/alloc.h"
#include "lib/api/cold_inside.h"
#include "lib/heap/observer.h"

void *elsewhere_take(size_t size, size_t align, bool *zero)
{
    void *block = outside_take(size, align, zero);
    if (block == NULL)
        return NULL;
    cold_large_count(NULL, (struct heap_sums){.allocs = 1, .alloc_bytes = outside_size(block)});
    if (sampler_rate() == SAMPLER_EXACT)
        track_lost();
    return block;
}

void elsewhere_lent(size_t usable)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return;
    cold_large_count(NULL, (struct heap_sums){.allocs = 1, .alloc_bytes = usable});
    if (sampler_rate() == SAMPLER_EXACT)
        track_lost();
    cold_end();
}

static void count(struct heap_sums sums)
{
    struct caller here = CALLER_HERE;
    if (!cold_begin(&here))
        return;
    cold_large_count(NULL, sums);
    cold_end();
}

void elsewhere_resized(size_t before, size_t now)
{
    if (before != now)
        count((struct heap_sums){1, 1, now, before});
}

void elsewhere_ended(uint64_t blocks, uint64_t bytes)
{
    if (blocks != 0)
        count((struct heap_sums){.frees = blocks, .free_bytes = bytes});
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
    if (lent_size(p) != 0 ? !lent_give(p, &freed) : !outside_give(p))
        fatal_freed_twice(p, size);
    cold_large_count(NULL, (struct heap_sums){.frees = 1, .free_bytes = size});
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
