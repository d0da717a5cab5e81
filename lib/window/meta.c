/* SPDX-License-Identifier: MIT */
/* See lib/window/meta.h. */
#include "lib/window/meta.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/window/arena.h"

enum { SMALLEST_SHIFT = 6, LINE = 1 << SMALLEST_SHIFT, SHIFTS = 26 };

struct lock meta_lock = {.rank = LOCK_META};

static void *waiting[SHIFTS];            /* freed pieces by size, linked through their first word */
static size_t used = 1 << META_ID_SHIFT; /* id 0 means "none" */

static unsigned shift_of(size_t bytes)
{
    unsigned shift = SMALLEST_SHIFT;
    while (((size_t)1 << shift) < bytes)
        shift++;
    return shift;
}

static void *take(size_t bytes, bool wait)
{
    unsigned shift = shift_of(bytes);
    size_t size = (size_t)1 << shift;
    if (shift >= SHIFTS)
        return NULL;
    if (wait)
        lock_take(&meta_lock);
    else if (lock_held != 0 || !lock_try(&meta_lock))
        return NULL;
    void *piece = waiting[shift];
    bool used_before = piece != NULL; /* fresh memory is zero and stays untouched */
    if (used_before) {
        waiting[shift] = *(void **)piece;
    } else {
        size_t at = (used + LINE - 1) & ~(size_t)(LINE - 1);
        if (arena_need_meta(at + size)) {
            piece = window.meta + at;
            store_relaxed(&used, at + size);
        }
    }
    lock_give(&meta_lock);
    if (used_before)
        memset(piece, 0, bytes);
    return piece;
}

void *meta_take(size_t bytes)
{
    return take(bytes, true);
}

void *meta_take_now(size_t bytes)
{
    return take(bytes, false);
}

void *meta_take_for_ever(size_t bytes)
{
    void *piece = NULL;
    lock_take(&meta_lock);
    size_t at = (used + LINE - 1) & ~(size_t)(LINE - 1);
    if (arena_need_meta(at + bytes)) {
        piece = window.meta + at;
        store_relaxed(&used, at + bytes);
    }
    lock_give(&meta_lock);
    return piece;
}

void meta_give(void *memory, size_t bytes)
{
    unsigned shift = shift_of(bytes);
    lock_take(&meta_lock);
    *(void **)memory = waiting[shift];
    waiting[shift] = memory;
    lock_give(&meta_lock);
}

size_t meta_used(void)
{
    return load_relaxed(&used);
}

uint32_t meta_id(const void *memory)
{
    return (uint32_t)((size_t)((const char *)memory - window.meta) >> META_ID_SHIFT);
}

void meta_recover(void)
{
    memset(waiting, 0, sizeof waiting);
}
