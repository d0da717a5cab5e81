/* SPDX-License-Identifier: MIT */
/*
 * Idle memory goes back to the kernel: the oldest dirty runs of a pool, one at a time, each with
 * the lock open. A run is SPAN_BUSY meanwhile, in no list; their number is counted, so that a
 * forked child knows whether a thread that stayed behind had one. See lib/window/pages.h.
 */
#include "base/config.h"
#include "base/os.h"
#include "lib/window/harden.h"
#include "lib/window/huge.h"
#include "lib/window/pages.h"

enum {
    LOOK_MS_MAX = 1000,     /* after a long delay, too, memory goes back within a second */
    IN_VAIN_MAX = 1000,     /* runs tried at a time that the kernel took nothing of, */
    IN_VAIN_REST_MS = 1000, /* and how long none is tried after that: pages may be locked */
    TABLES_FROM = 1 << 20,  /* runs of this many bytes or more return their live bytes, too */
};

static uint32_t returning; /* runs that are SPAN_BUSY */
static __thread bool returning_here;

static size_t return_one(struct pages *pages, struct span *span, uint64_t now_ms, bool *refused);
static size_t return_pages(uintptr_t start, uintptr_t end);

size_t pages_return(unsigned pool, uint64_t since_ms)
{
    return pages_return_up_to(pool, since_ms, SIZE_MAX);
}

size_t pages_return_up_to(unsigned pool, uint64_t since_ms, size_t max)
{
    struct pages *pages = &pages_of[pool];
    size_t bytes = 0, in_vain = 0;
    bool refused = false;
    uint64_t now_ms = os_now_ms(); /* what others free from now on is not waited for */
    bool all = since_ms == UINT64_MAX;
    if (load_relaxed(&pages->oldest) == 0 || (!all && now_ms < load_relaxed(&pages->rest_until_ms)))
        return 0;
    since_ms = since_ms < now_ms ? since_ms : now_ms;
    lock_take(&pages->lock);
    while (pages->oldest != 0 && span_at(pages->oldest)->since_ms <= since_ms &&
           in_vain < IN_VAIN_MAX && bytes < max) {
        bytes += return_one(pages, span_at(pages->oldest), now_ms, &refused);
        in_vain += refused;
    }
    if (in_vain > 0)
        store_relaxed(&pages->rest_until_ms, now_ms + IN_VAIN_REST_MS);
    lock_give(&pages->lock);
    return bytes;
}

/* Returns one run with the lock open, since the kernel may take its time. A long one has pages of
 * the tables of its own; they are all zero, and will read as zero again. */
static size_t return_one(struct pages *pages, struct span *span, uint64_t now_ms, bool *refused)
{
    size_t bytes = (size_t)span->units << UNIT_SHIFT;
    uintptr_t start = (uintptr_t)span_start(span);
    __atomic_fetch_add(&returning, 1, __ATOMIC_RELAXED);
    returning_here = true;
    pages_unlink_locked(pages, span);
    store_relaxed(&span->state, SPAN_BUSY);
    lock_give(&pages->lock);
    huge_leave((void *)start, bytes);
    size_t returned = return_pages(start, start + bytes);
    static const uint8_t of_each_table[] = {1, 64 / GRANULE, 256 / GRANULE}; /* a mark */
    for (unsigned i = 0; bytes >= TABLES_FROM && i < COUNT_OF(of_each_table); i++) {
        uintptr_t table = window.live[of_each_table[i]];
        return_pages((uintptr_t)live_in(table, (void *)start),
                     (uintptr_t)live_in(table, (void *)(start + bytes)));
    }
    lock_take(&pages->lock);
    span->zero = returned == bytes && !harden_on; /* it can be touched */
    span->full = false;
    add_relaxed(&pages->returned_units, returned >> UNIT_SHIFT);
    add_relaxed(&pages->returns, returned != 0);
    *refused = returned == 0 && bytes >= 2 * os_page_size();
    if (returned == 0) { /* locked, or less than a page: later, with its neighbours */
        span->since_ms = now_ms + 1;
        pages_release_locked(pages, span, SPAN_DIRTY);
    } else {
        pages_release_locked(pages, span, SPAN_CLEAN);
    }
    returning_here = false;
    __atomic_fetch_sub(&returning, 1, __ATOMIC_RELAXED);
    return returned;
}

/* Returns the whole kernel pages in [start, end); how many bytes. */
static size_t return_pages(uintptr_t start, uintptr_t end)
{
    uintptr_t page = os_page_size(), from = (start + page - 1) & ~(page - 1),
              to = end & ~(page - 1);
    return from < to && os_return((void *)from, to - from) ? to - from : 0;
}

uint64_t pages_look_ms(void)
{
    uint64_t half = config.return_delay_ms / 2;
    return half < LOOK_MS_MAX ? half : LOOK_MS_MAX;
}

void pages_tick(uint64_t now_ms)
{
    static uint64_t looked_ms;
    uint64_t before = load_relaxed(&looked_ms), delay = config.return_delay_ms;
    if (now_ms - before < pages_look_ms() || delay == config_never || now_ms < delay ||
        !__atomic_compare_exchange_n(&looked_ms, &before, now_ms, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        pages_return(pool, now_ms - delay);
}

bool pages_unsettled(void)
{
    return load_relaxed(&returning) != 0;
}

void pages_returning_stop(bool everywhere)
{
    if (everywhere)
        store_relaxed(&returning, 0);
    else if (returning_here)
        __atomic_fetch_sub(&returning, 1, __ATOMIC_RELAXED);
    returning_here = false;
}
