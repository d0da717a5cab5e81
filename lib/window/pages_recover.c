/* SPDX-License-Identifier: MIT */
/* See lib/window/pages.h: free runs found again from the states of their spans. */
#include <string.h>

#include "lib/window/pages.h"

static void lists_clear(struct pages *pages);

void pages_recover(void)
{
    pages_returning_stop(true);
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        struct pages *pages = &pages_of[pool];
        if (pages->lock.rank != LOCK_PAGES)
            continue;
        lists_clear(pages);
        pages->used_units = 0;
    }
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        struct span *span = span_at(id);
        struct pages *pages = &pages_of[span->pool];
        if (span->state == SPAN_BUSY)
            span->state = SPAN_DIRTY;
        if (span->state == SPAN_DIRTY || span->state == SPAN_CLEAN)
            pages_link_locked(pages, span);
        else if (span->state != SPAN_NONE)
            add_relaxed(&pages->used_units, span->units);
    }
}

static void lists_clear(struct pages *pages)
{
    memset(pages->heads, 0, sizeof pages->heads);
    memset(pages->filled, 0, sizeof pages->filled);
    store_relaxed(&pages->oldest, 0);
    pages->newest = pages->spare = pages->alone = 0;
    store_relaxed(&pages->dirty_units, 0);
    pages->clean_units = 0;
}

/* Other threads go on: only free runs of this pool have its lock. A run that the call was about to
 * return to the kernel, cut or join is lost. */
static void relist_locked(struct pages *pages)
{
    lists_clear(pages);
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        struct span *span = span_at(id);
        uint8_t state = load_relaxed(&span->state);
        if (load_relaxed(&span->pool) == pool_of(pages) &&
            (state == SPAN_DIRTY || state == SPAN_CLEAN))
            pages_link_locked(pages, span);
    }
}

void pages_repair(bool give)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        if (lock_is_own(&pages_of[pool].lock)) {
            relist_locked(&pages_of[pool]);
            if (give)
                lock_give(&pages_of[pool].lock);
        }
}
