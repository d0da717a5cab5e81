/* SPDX-License-Identifier: MIT */
/* See lib/watch/walks.h. */
#include "lib/watch/walks.h"

#include "base/compiler.h"

enum { PLACES = 64 }; /* walks at the same time: more than there are processors, mostly */

static BULK struct walk walks[PLACES];
/* Apart from them: a forked child looks at these alone, and gets no memory for walks that it does
 * not make. */
static BULK uint32_t busy[PLACES], owners[PLACES];

struct walk *walks_take(uint32_t owner, const struct own_stack *own)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t place = (owner + i) % PLACES;
        if (load_relaxed(&busy[place]) != 0 ||
            __atomic_exchange_n(&busy[place], 1, __ATOMIC_ACQUIRE) != 0)
            continue;
        if (owners[place] != owner || owner == WALKS_UNOWNED) {
            walk_forget(&walks[place]);
            walks[place].own = *own;
            owners[place] = owner;
        }
        return &walks[place];
    }
    return NULL;
}

void walks_give(struct walk *walk)
{
    store_release(&busy[walk - walks], 0);
}

void walks_forked(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (busy[i] != 0)
            busy[i] = 0;
}
