/* SPDX-License-Identifier: MIT */
/* See lib/window/hold.h. */
#include "lib/window/hold.h"

#include "base/compiler.h"
#include "lib/window/pages.h"

static size_t
    limit_units; /* 0: none. Zero at first, as pages that nothing writes to cost nothing */

static size_t units_in_memory(void);

void hold_set(bool hold)
{
    store_relaxed(&limit_units, hold ? units_in_memory() + 1 : 0);
}

void hold_more(size_t units)
{
    if (load_relaxed(&limit_units) != 0)
        __atomic_fetch_add(&limit_units, units, __ATOMIC_RELAXED);
}

bool hold_refuses(uint32_t units)
{
    size_t limit = load_relaxed(&limit_units);
    return unlikely(limit != 0) && units_in_memory() + units > limit;
}

static size_t units_in_memory(void)
{
    size_t units = 0;
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        const struct pages *pages = &pages_of[pool];
        units += load_relaxed(&pages->used_units) + load_relaxed(&pages->dirty_units);
    }
    return units;
}
