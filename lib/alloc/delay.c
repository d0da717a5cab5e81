/* SPDX-License-Identifier: MIT */
/* See lib/alloc/delay.h. */
#include "lib/alloc/delay.h"

struct delay *delay_make(void)
{
    struct delay *delay = meta_take(sizeof *delay);
    if (delay == NULL)
        return NULL;
    delay->random = harden_seed();
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        size_t size = class_size(mark_class(mark)), places = DELAY_MAX;
        while (places > DELAY_MIN && places * size > DELAY_BYTES)
            places /= 2;
        delay->queues[mark].mask = (uint8_t)(places - 1);
        delay->queues[mark].group = (uint8_t)(places / 4 - 1);
    }
    return delay;
}

void *delay_take_any(struct delay *delay)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        struct delay_queue *queue = &delay->queues[mark];
        for (unsigned i = 0; queue->waiting != 0 && i <= queue->mask; i++) {
            void *block = queue->blocks[i];
            if (block == NULL)
                continue;
            store_relaxed(&queue->blocks[i], NULL);
            store_relaxed(&queue->waiting, queue->waiting - 1);
            return block;
        }
    }
    return NULL;
}

RACY size_t delay_count(const struct delay *delay, unsigned mark)
{
    return delay == NULL ? 0 : delay->queues[mark].waiting;
}
