/* SPDX-License-Identifier: MIT */
/* See jemalloc_tcache.h. */
#include "lib/faces/jemalloc/jemalloc_tcache.h"

#include "lib/faces/jemalloc/jemalloc_conf.h"

void tcache_begin(void)
{
    struct heap_cache cache = {.max = BLOCK_MAX};
    const struct jemalloc_value *bounds = &jemalloc_values[JEMALLOC_tcache_ncached_max];
    const struct jemalloc_value *max = &jemalloc_values[JEMALLOC_tcache_max];
    bool off = !jemalloc_on(JEMALLOC_tcache);
    if (max->number >= BLOCK_MAX && !off && !bounds->given)
        return;
    tcache_counts(&cache);
    cache.max = (uint32_t)tcache_round(max->number);
    cache.off = off;
    if (bounds->given)
        tcache_bound(&cache, bounds->text);
    heap_cache_first = cache;
}

void tcache_counts(struct heap_cache *cache)
{
    if (cache->bounded)
        return;
    for (unsigned class = 0; class < CLASS_COUNT; class ++)
        cache->bounds[class] = TCACHE_BLOCKS_MAX;
    cache->bounded = true;
}

void tcache_bound(struct heap_cache *cache, const char *at)
{
    tcache_counts(cache);
    while (at != NULL && *at >= '0' && *at <= '9') {
        size_t from = ranges_number(&at), to = ranges_number(&at), max = ranges_number(&at);
        size_t last = to < BLOCK_MAX ? to : BLOCK_MAX;
        if (from > to || from > BLOCK_MAX)
            continue;
        for (unsigned class = class_of(from == 0 ? 1 : from);
             class <= class_of(last == 0 ? 1 : last); class ++)
            cache->bounds[class] = (uint16_t)(max < TCACHE_BLOCKS_MAX ? max : TCACHE_BLOCKS_MAX);
    }
}

size_t tcache_round(size_t size)
{
    size = size == 0 ? 1 : size < TCACHE_MAX ? size : TCACHE_MAX;
    return size <= BLOCK_MAX ? class_size(class_of(size)) : large_size_at(large_size_index(size));
}
