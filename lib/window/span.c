/* SPDX-License-Identifier: MIT */
/* See lib/window/span.h. */
#include "lib/window/span.h"

static uint32_t count = 1; /* id 0 means "none" */

uint32_t span_new_id(void)
{
    uint32_t id = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (!arena_need_spans(((size_t)id + 1) * sizeof(struct span))) {
        /* Give the number back if no thread took the next one meanwhile; else it stays unused. */
        uint32_t next = id + 1;
        __atomic_compare_exchange_n(&count, &next, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return 0;
    }
    return id;
}

/* In a child forked just before the place of the newest was mapped, it is mapped now. */
uint32_t span_count(void)
{
    uint32_t ids = load_relaxed(&count);
    while (ids > 1 && !arena_need_spans(ids * sizeof(struct span)))
        ids--;
    return ids;
}

/* Released: a thread that finds the id there from another pool sees whose span it is. */
void span_set_units(const struct span *span, bool all)
{
    uint32_t id = span_id(span), *units = window.units + span->first;
    if (all) {
        for (uint32_t i = 0; i < span->units; i++)
            store_release(&units[i], id);
    } else {
        store_release(&units[0], id);
        store_release(&units[span->units - 1], id);
    }
}

struct span *span_find(const void *p)
{
    if (!window_has(p))
        return NULL;
    uint32_t unit = unit_of(p), ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        struct span *span = span_at(id);
        uint8_t state = load_relaxed(&span->state);
        if ((state == SPAN_BLOCKS || state == SPAN_LARGE) && unit >= span->first &&
            unit < span->first + span->units)
            return span;
    }
    return NULL;
}
