/* SPDX-License-Identifier: MIT */
/* See lib/alloc/delay.h. */
#include "lib/alloc/delay.h"

#include "lib/alloc/slot.h"
#include "lib/window/window.h"

struct delay *delay_make(void)
{
    struct delay *delay = meta_take(sizeof *delay);
    if (delay != NULL)
        delay->random = harden_seed();
    return delay;
}

void *delay_take_any(struct delay *delay)
{
    for (unsigned i = 0; i < DELAY_SMALL + DELAY_MIDDLE; i++) {
        bool small = i < DELAY_SMALL;
        uint64_t *place = small ? &delay->queue[i] : &delay->queue_middle[i - DELAY_SMALL];
        uint64_t slot = *place;
        store_relaxed(place, 0);
        if (slot == 0)
            continue;
        delay->waiting[slot_place(slot)]--;
        return slot_block(slot);
    }
    return NULL;
}

RACY size_t delay_count(const struct delay *delay, unsigned mark)
{
    return delay == NULL ? 0 : delay->waiting[mark];
}
