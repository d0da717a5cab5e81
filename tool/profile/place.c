/* SPDX-License-Identifier: MIT */
/* See tool/profile/place.h. */
#include "tool/profile/place.h"

uintptr_t place_now;

static struct {
    const char *phase;
    uintptr_t bytes;
    size_t size;
    unsigned from, to; /* per cent */
} place;

void place_begin(const char *phase, const void *bytes, size_t size)
{
    store_relaxed(&place.size, 0); /* nothing is known meanwhile */
    store_relaxed(&place.phase, phase);
    store_relaxed(&place.bytes, (uintptr_t)bytes);
    place_part(0, 100);
    store_release(&place.size, size);
}

void place_part(unsigned from, unsigned to)
{
    place_at((const void *)load_relaxed(&place.bytes));
    store_relaxed(&place.from, from);
    store_relaxed(&place.to, to);
}

bool place_ask(const char **phase, uint64_t *done, uint64_t *all)
{
    size_t size = load_acquire(&place.size);
    uintptr_t bytes = load_relaxed(&place.bytes), now = load_relaxed(&place_now);
    unsigned from = load_relaxed(&place.from), to = load_relaxed(&place.to);
    if (size == 0 || now < bytes || now - bytes > size)
        return false;
    double share = (double)(now - bytes) / (double)size;
    *phase = load_relaxed(&place.phase);
    *all = 10000;
    *done = (uint64_t)(100 * (from + share * (to - from)));
    return true;
}
