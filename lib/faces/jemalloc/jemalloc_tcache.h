/* SPDX-License-Identifier: MIT */
/* jemalloc's settings of a thread's cache, which are bounds of our bins (`struct heap_cache`). */
#ifndef JEMALLOC_JEMALLOC_TCACHE_H
#define JEMALLOC_JEMALLOC_TCACHE_H

#include "lib/alloc/alloc.h"

enum {
    TCACHE_MAX = 8 << 20,       /* the largest size that tcache_max can be */
    TCACHE_BLOCKS_MAX = 8191,   /* as in jemalloc: of a class, in one cache */
    TCACHE_SETTINGS_SIZE = 1000 /* of a text of bounds */
};

/* The options tcache, tcache_max and tcache_ncached_max, for all threads. The allocator is up, and
 * no thread has a heap yet. */
void tcache_begin(void);
/* "8-128:1|160-160:11": sizes and blocks; the form has been checked. */
void tcache_bound(struct heap_cache *cache, const char *ranges);
/* From now on the rest of `cache` counts. */
void tcache_counts(struct heap_cache *cache);
/* The size of the class that blocks of this size are in, where it can be cached. */
size_t tcache_round(size_t size);

#endif
