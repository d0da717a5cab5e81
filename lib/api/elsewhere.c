/* SPDX-License-Identifier: MIT */
/* See lib/api/elsewhere.h. */
#include "lib/api/elsewhere.h"

#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"
#include "lib/api/young.h"

/* For the thread's own totals, and for those of all threads. */
static void count(struct heap_sums more)
{
    add_relaxed(&young.sums.allocs, more.allocs);
    add_relaxed(&young.sums.frees, more.frees);
    add_relaxed(&young.sums.alloc_bytes, more.alloc_bytes);
    add_relaxed(&young.sums.free_bytes, more.free_bytes);
    heap_count_ended(&more);
}

void *elsewhere_take(size_t size, size_t align, bool *zero)
{
    void *block = outside_take(size, align, zero);
    if (block != NULL)
        count((struct heap_sums){.allocs = 1, .alloc_bytes = outside_size(block)});
    return block;
}

bool elsewhere_free(void *p)
{
    size_t size = outside_size(p);
    if (size == 0)
        return false;
    if (!cold_begin())
        return true; /* in a signal handler that came upon us inside: lost, but nothing breaks */
    if (!outside_give(p))
        fatal_freed_twice(p, size);
    count((struct heap_sums){.frees = 1, .free_bytes = size});
    cold_end();
    return true;
}
