/* SPDX-License-Identifier: MIT */
/* See lib/heap/growth.h. A ring of entries, each written by the one thread that saw the window
 * grow. A reader skips an entry that changes while it is read. */
#include "lib/heap/growth.h"

#include "base/compiler.h"
#include "lib/watch/watch.h"

size_t growth_seen;
static uint64_t noted; /* bytes of the window beyond GROWTH_FIRST that entries stand for */
static uint32_t next;  /* number of the next entry; its place in the ring is the remainder */
static BULK struct growth ring[GROWTH_MAX];
static uint64_t older_bytes;

static uint32_t walk_from(uintptr_t *pcs, const struct caller *caller);

void growth_add(const struct caller *caller)
{
    size_t now = load_relaxed(&window.granules) - GROWTH_FIRST / GRANULE;
    size_t seen = load_relaxed(&growth_seen);
    if (now <= seen || !__atomic_compare_exchange_n(&growth_seen, &seen, now, false,
                                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return; /* another thread notes it */
    uint64_t claimed = arena_claimed() - GROWTH_FIRST;
    uint64_t bytes = claimed - __atomic_exchange_n(&noted, claimed, __ATOMIC_ACQ_REL);
    if ((int64_t)bytes > 0)
        growth_beside(caller, bytes);
}

void growth_beside(const struct caller *caller, uint64_t bytes)
{
    struct growth *growth = &ring[__atomic_fetch_add(&next, 1, __ATOMIC_ACQ_REL) % GROWTH_MAX];
    __atomic_fetch_add(&older_bytes, __atomic_exchange_n(&growth->bytes, 0, __ATOMIC_ACQ_REL),
                       __ATOMIC_RELAXED);
    growth->times = 1;
    growth->depth = caller == NULL ? 0 : walk_from(growth->pcs, caller);
    store_release(&growth->bytes, bytes);
}

static uint32_t walk_from(uintptr_t *pcs, const struct caller *caller)
{
    static const struct own_stack nothing;
    struct walk *walk = walks_take(WALKS_UNOWNED, &nothing);
    pcs[0] = caller->pc;
    if (walk == NULL)
        return 1;
    unwind(walk, caller, WALK_MAX);
    uint32_t depth = walk->count < GROWTH_DEPTH ? walk->count : GROWTH_DEPTH;
    for (uint32_t i = 0; i < depth; i++)
        pcs[i] = walk->pcs[walk->count - 1 - i];
    walks_give(walk);
    return depth == 0 ? 1 : depth;
}

static void tell(const struct growth *growth, void (*each)(void *, const struct growth *),
                 void *context)
{
    struct growth copy = *growth;
    if (copy.bytes != 0 && copy.bytes == load_acquire(&growth->bytes))
        each(context, &copy);
}

RACY void growth_each(void (*each)(void *context, const struct growth *growth), void *context)
{
    uint32_t end = load_acquire(&next), count = end < GROWTH_MAX ? end : GROWTH_MAX;
    for (uint32_t i = 1; i <= count; i++)
        tell(&ring[(end - i) % GROWTH_MAX], each, context);
    struct growth older = {load_relaxed(&older_bytes), end - count, 0, {0}};
    if (older.bytes != 0)
        each(context, &older);
    uint64_t claimed = arena_claimed();
    struct growth first = {claimed < GROWTH_FIRST ? claimed : GROWTH_FIRST, 1, 0, {0}};
    if (first.bytes != 0)
        each(context, &first);
}
