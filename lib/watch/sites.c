/* SPDX-License-Identifier: MIT */
/* See lib/watch/sites.h. */
#include "lib/watch/sites.h"

#include "base/compiler.h"
#include "base/config.h"
#include "lib/alloc/alloc.h"
#include "lib/watch/stacks.h"
#include "lib/watch/threads.h"

enum {
    LARGE_STEPS_SHIFT = 3, /* large sizes: eight ranges a doubling */
    LARGE_LEAST_LOG = 15,
    /* The parts of a kind. */
    CLASS_BITS = 9,
    RATE_BITS = 8,
};

static uint32_t slabs[TABLE_SLABS];
static struct table sites = {
    .entry_bytes = sizeof(struct site), .slab_shift = 3, .count = 1, .slabs = slabs};

uint32_t site_kind(unsigned class, size_t usable, unsigned rate, unsigned era)
{
    if (class >= CLASS_COUNT) {
        unsigned log = 63u - (unsigned)__builtin_clzll(usable | (size_t)1 << LARGE_LEAST_LOG);
        unsigned step = (usable >> (log - LARGE_STEPS_SHIFT)) & ((1 << LARGE_STEPS_SHIFT) - 1);
        class = CLASS_COUNT + ((log - LARGE_LEAST_LOG) << LARGE_STEPS_SHIFT) + step;
    }
    return class | rate << CLASS_BITS | era << (CLASS_BITS + RATE_BITS);
}

unsigned site_class(const struct site *site)
{
    return site->entry.b & ((1u << CLASS_BITS) - 1);
}

unsigned site_rate(const struct site *site)
{
    return site->entry.b >> CLASS_BITS & ((1u << RATE_BITS) - 1);
}

unsigned site_era(const struct site *site)
{
    return site->entry.b >> (CLASS_BITS + RATE_BITS);
}

uint32_t site_stack(const struct site *site)
{
    return (uint32_t)site->entry.a - 1;
}

uint32_t site_thread(const struct site *site)
{
    return (uint32_t)(site->entry.a >> 32);
}

struct site *site_at(uint32_t id)
{
    return table_at(&sites, id);
}

uint32_t sites_count(void)
{
    return table_count(&sites);
}

static uint32_t find(uint32_t stack, uint32_t thread, uint32_t kind, uint64_t most)
{
    bool fresh;
    uint32_t id = table_add(&sites, (uint64_t)thread << 32 | (stack + 1), kind, most, &fresh);
    if (fresh) {
        uint32_t *first = stacks_sites(stack), next = load_relaxed(first);
        struct site *site = site_at(id);
        do
            store_relaxed(&site->entry.link, next);
        while (!__atomic_compare_exchange_n(first, &next, id, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED));
    }
    return id;
}

uint32_t sites_find(uint32_t stack, uint32_t thread, uint32_t kind)
{
    uint32_t id = find(stack, thread, kind, config.heap_memory);
    return likely(id != 0) ? id : find(STACK_OTHER, THREAD_OTHER, kind, UINT64_MAX);
}

struct profile_sum site_live(const struct site *site)
{
    const struct profile_sum *own = &site->own.freed, *others = &site->others.freed;
    struct profile_sum live = {
        load_relaxed(&own->objects) + load_relaxed(&others->objects),
        load_relaxed(&own->requested) + load_relaxed(&others->requested),
        load_relaxed(&own->usable) + load_relaxed(&others->usable),
    };
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    live.objects = load_relaxed(&site->allocated.objects) - live.objects;
    live.requested = load_relaxed(&site->allocated.requested) - live.requested;
    live.usable = load_relaxed(&site->allocated.usable) - live.usable;
    return live;
}
