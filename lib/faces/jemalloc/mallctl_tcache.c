/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl about caches: what the bins of the calling thread may hold
 * (jemalloc_tcache.h), and the caches that the program creates, each of which is a number and
 * nothing else: blocks come from the bins of the thread.
 */
#include <errno.h>
#include <string.h>

#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/jemalloc_tcache.h"
#include "lib/faces/jemalloc/mallctl.h"

enum { CACHES_MAX = 4094 }; /* numbers that MALLOCX_TCACHE has room for */

static uint8_t caches[CACHES_MAX / 8 + 1]; /* a bit for each number that is in use */

int serve_cache_create(const struct request *request, const struct node *node)
{
    (void)node;
    int refused = request_read_only(request);
    if (refused || !request_wants_number(request))
        return refused ? refused : EINVAL;
    for (unsigned i = 0; i < CACHES_MAX; i++) {
        uint8_t bit = (uint8_t)(1 << i % 8);
        if (!(__atomic_fetch_or(&caches[i / 8], bit, __ATOMIC_RELAXED) & bit))
            return request_give(request, &i, sizeof i);
    }
    return EAGAIN;
}

/* 1: its number can be used again. */
int serve_cache_number(const struct request *request, const struct node *node)
{
    unsigned value;
    bool came;
    int refused = request_write_only(request);
    int wrong = request_take(request, &value, sizeof value, &came);
    if (refused || wrong || !came)
        return refused ? refused : EINVAL;
    if (value >= CACHES_MAX || !(load_relaxed(&caches[value / 8]) >> value % 8 & 1))
        return EFAULT;
    cold_flush();
    if (node->number == 1)
        __atomic_fetch_and(&caches[value / 8], (uint8_t) ~(1 << value % 8), __ATOMIC_RELAXED);
    return 0;
}

/* What counts for the calling thread. */
static struct heap_cache cache_now(void)
{
    return heap_self == NULL ? heap_cache_first : heap_self->cache;
}

/* False when memory is out. */
static bool cache_change(const struct heap_cache *cache)
{
    struct caller here = CALLER_HERE;
    if ((heap_self == NULL && !cold_grow_up()) || !cold_begin(&here))
        return false;
    heap_self->cache = *cache;
    heap_bound(heap_self);
    cold_end();
    return true;
}

/* Switched on again, it is as in a new thread. */
int serve_thread_cache(const struct request *request, const struct node *node)
{
    (void)node;
    bool value, came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    struct heap_cache cache = cache_now();
    bool before = !cache.off;
    if (came && value != before) {
        if (value)
            cache = heap_cache_first;
        tcache_counts(&cache);
        cache.off = !value;
        if (!cache_change(&cache))
            return EAGAIN;
        if (!value)
            cold_flush();
    }
    return request_give(request, &before, sizeof before);
}

/* A size of a class, 8 MiB at most, as in jemalloc. */
int serve_thread_cache_max(const struct request *request, const struct node *node)
{
    (void)node;
    struct heap_cache cache = cache_now();
    size_t value, before = cache.max;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came) {
        tcache_counts(&cache);
        cache.max = (uint32_t)tcache_round(value);
        if (!cache_change(&cache))
            return EAGAIN;
    }
    return request_give(request, &before, sizeof before);
}

int serve_arenas_cache_max(const struct request *request, const struct node *node)
{
    (void)node;
    size_t value = tcache_round(jemalloc_values[JEMALLOC_tcache_max].number);
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* How many blocks of the class that has the written size. */
int serve_thread_bound(const struct request *request, const struct node *node)
{
    (void)node;
    struct heap_cache cache = cache_now();
    size_t size, max = 0;
    bool came;
    int wrong = request_take(request, &size, sizeof size, &came);
    if (wrong || !came || size > TCACHE_MAX)
        return wrong ? wrong : EINVAL;
    tcache_counts(&cache);
    if (size <= BLOCK_MAX && !cache.off && tcache_round(size) <= cache.max)
        max = cache.bounds[class_of(size == 0 ? 1 : size)];
    return request_give(request, &max, sizeof max);
}

int serve_thread_bounds(const struct request *request, const struct node *node)
{
    (void)node;
    struct heap_cache cache = cache_now();
    const char *text;
    bool came;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, &text, sizeof text, &came);
    if (wrong || !came || text == NULL)
        return wrong ? wrong : EINVAL;
    size_t length = strnlen(text, TCACHE_SETTINGS_SIZE);
    if (length == TCACHE_SETTINGS_SIZE || (length != 0 && !ranges_are_fine(text, length)))
        return EINVAL;
    if (cache.off)
        return ENOENT;
    tcache_bound(&cache, text);
    return cache_change(&cache) ? 0 : EAGAIN;
}
