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

bool elsewhere_free(void *p)
{
    size_t size = outside_size(p);
    if (size == 0)
        return false;
    if (!cold_begin(NULL))
        return true; /* in a signal handler that interrupted the allocator: the block is lost,
                        which is harmless */
    if (!outside_give(p))
        fatal_freed_twice(p, size);
    cold_large_count(NULL, (struct heap_sums){.frees = 1, .free_bytes = size});
    cold_end();
    return true;
}
