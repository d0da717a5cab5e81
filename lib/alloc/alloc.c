/* SPDX-License-Identifier: MIT */
/* See lib/alloc/alloc.h. */
#include "lib/alloc/alloc.h"

bool alloc_init(void)
{
    sizes_init();
    harden_init();
    heap_init();
    return arena_init();
}

size_t alloc_purge(size_t max)
{
    size_t bytes = 0;
    for (unsigned pool = 0; pool < POOL_MAX && bytes < max; pool++)
        bytes += pages_return_up_to(pool, UINT64_MAX, max - bytes);
    return bytes;
}
