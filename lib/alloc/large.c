/* SPDX-License-Identifier: MIT */
/* See lib/alloc/large.h. */
#include "lib/alloc/large.h"

#include "lib/alloc/held.h"
#include "lib/alloc/pages.h"

enum { UNITS_MOST = 1u << 31 };

void *large_take(unsigned pool, size_t size, size_t align, bool *zero)
{
    size_t units = size / UNIT + (size % UNIT != 0);
    size_t align_units = align <= UNIT ? 1 : align >> UNIT_SHIFT;
    if (units >= UNITS_MOST || align_units >= UNITS_MOST || units + align_units >= UNITS_MOST)
        return NULL;
    struct span *span = pages_take(pool, (uint32_t)units, (uint32_t)align_units);
    if (span == NULL)
        return NULL;
    *zero = span->zero;
    span->mark = MARK_LARGE;
    span->watched = false;
    span->record = 0;
    span->zero = false;
    span_set_units(span, false);
    store_release(&span->state, SPAN_LARGE);
    held_add(large_size(span));
    return span_start(span);
}

void large_give(struct span *span)
{
    held_add(-(uint64_t)large_size(span));
    pages_give(span);
}

bool large_resize(struct span *span, size_t size)
{
    uint32_t units = (uint32_t)units_of(size);
    size_t before = large_size(span);
    if (units_of(size) >= UNITS_MOST)
        return false;
    if (units > span->units && !pages_extend(span, units))
        return false;
    if (units < span->units)
        pages_shorten(span, units);
    held_add(large_size(span) - before);
    return true;
}

enum os_moved large_move(struct span *from, struct span *to)
{
    size_t bytes = large_size(from) < large_size(to) ? large_size(from) : large_size(to);
    size_t page = os_page_size();
    if ((uintptr_t)span_start(from) % page != 0 || (uintptr_t)span_start(to) % page != 0 ||
        bytes % page != 0)
        return OS_STAYED;
    enum os_moved moved = os_move(span_start(from), span_start(to), bytes);
    from->zero = moved == OS_MOVED;
    return moved;
}

void large_abandon(struct span *span)
{
    held_add(-(uint64_t)large_size(span));
    store_relaxed(&span->state, SPAN_NONE);
}
