/* SPDX-License-Identifier: MIT */
/* See lib/leak/states.h: the memory of a scan. Most of it is address space, touched as needed. */
#include "lib/leak/states.h"

#include "base/os.h"

enum {
    WAITING_MAX = 1 << 30, /* entries: address space only, touched as far as needed */
    WAITING_MIN = 1 << 16, /* where there is little address space */
};

static void note_large(struct scan *scan);

bool states_take(struct scan *scan)
{
    scan->states_bytes = scan->window_bytes / GRANULE / STATES_IN_WORD * sizeof(uint64_t) + UNIT;
    scan->large_bytes = scan->window_bytes / UNIT * sizeof(uint32_t) + UNIT;
    scan->states = os_map(scan->states_bytes);
    scan->large = os_map(scan->large_bytes);
    if (scan->others_count > 0 && (scan->others = os_map(scan->others_count)) == NULL)
        return false;
    /* No more entries than blocks, and a heap has at most a block for each granule. */
    scan->waiting_max = scan->window_bytes / GRANULE + WAITING_MIN;
    if (scan->waiting_max > WAITING_MAX)
        scan->waiting_max = WAITING_MAX;
    while (scan->waiting_max >= WAITING_MIN && scan->waiting == NULL) {
        scan->waiting = os_map(scan->waiting_max * sizeof *scan->waiting);
        if (scan->waiting == NULL)
            scan->waiting_max /= 4;
    }
    if (scan->states == NULL || scan->large == NULL || scan->waiting == NULL)
        return false;
    note_large(scan);
    return true;
}

/* `window.units` tells the span at the first and the last unit of a large block only. */
static void note_large(struct scan *scan)
{
    for (uint32_t id = 1; id < span_count(); id++) {
        const struct span *span = span_at(id);
        if (span->state == SPAN_LARGE)
            for (uint32_t i = 0; i < span->length; i++)
                scan->large[span->first + i] = id;
    }
}
