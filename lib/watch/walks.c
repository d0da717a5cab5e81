/* SPDX-License-Identifier: MIT */
/* See lib/watch/walks.h. */
#include "lib/watch/walks.h"

#include "base/compiler.h"

enum { PLACES = 64 }; /* walks at the same time: more than there are processors, mostly */

static BULK struct place {
    struct walk walk; /* first: `walks_give` finds the place by it */
    uint32_t busy, owner;
} places[PLACES];

struct walk *walks_take(uint32_t owner, const struct own_stack *own)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        struct place *place = &places[(owner + i) % PLACES];
        if (load_relaxed(&place->busy) != 0 ||
            __atomic_exchange_n(&place->busy, 1, __ATOMIC_ACQUIRE) != 0)
            continue;
        if (place->owner != owner || owner == WALKS_NOBODY) {
            walk_forget(&place->walk);
            place->walk.own = *own;
            place->owner = owner;
        }
        return &place->walk;
    }
    return NULL;
}

void walks_give(struct walk *walk)
{
    store_release(&((struct place *)walk)->busy, 0);
}

void walks_forked(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        places[i].busy = 0;
}
