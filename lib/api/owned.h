/* SPDX-License-Identifier: MIT */
/*
 * The hot path of blocks with an owner (lib/alloc/owner.h), which faces of other allocators hand
 * out. A block from a front costs no lock and no more than three times the instructions of hot.h,
 * with its free (`cold_owned_push`); it is sampled with the odds of any other, by a clock of the
 * front in bytes.
 */
#ifndef API_OWNED_H
#define API_OWNED_H

#include "lib/alloc/alloc.h"
#include "lib/api/hooks.h"

/* The hot path of an owner: NULL for `cold_owned_take`. */
INLINE void *owned_pop(struct owner *owner, size_t size)
{
    struct heap *heap = heap_self;
    struct front *front = heap == NULL ? NULL : heap->fronts;
    if (unlikely(front == NULL || front->owner != owner || size > BLOCK_MAX ||
                 front->generation != heap_generation() || load_relaxed(&hooks_any)))
        return NULL;
    unsigned class = class_of(size);
    int64_t left = front->clock - (int64_t)class_size(class);
    if (unlikely(left < 0))
        return NULL;
    void *block = front_pop(front, class);
    if (unlikely(block == NULL))
        return NULL;
    front->clock = left;
    store_relaxed(live_at(block), live_sign_watched(block));
    return block;
}

/* The same for a thread whose blocks all come from one. */
INLINE void *owned_pop_default(size_t size)
{
    const struct heap *heap = heap_self;
    if (likely(heap == NULL || heap->default_owner == NULL) || heap->default_owner->lend != NULL)
        return NULL;
    return owned_pop(heap->default_owner, size);
}

#endif
