/* SPDX-License-Identifier: MIT */
/*
 * With `harden`: freed blocks that wait before they are used again. Each heap has a queue for each
 * mark, of 64 blocks if they are small; what leaves it goes to the bin. Blocks leave in the order
 * in which they came, but in a random one within groups of a quarter of the queue: it is a ring,
 * and the place in it is a count with some low bits turned around, which are drawn anew for each
 * group. Large blocks wait elsewhere (large.c).
 */
#ifndef ALLOC_DELAY_H
#define ALLOC_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/window/window.h"

enum {
    DELAY_MAX = 64,         /* blocks in a queue; of larger ones fewer, */
    DELAY_BYTES = 16 << 10, /* so that what waits in it is at most this, */
    DELAY_MIN = 8,          /* but never fewer than this: groups of two, else nothing is random */
};

struct delay_queue {
    uint8_t next, turned; /* blocks that came; the bits that are turned around */
    uint8_t mask, group;  /* one less than the places, and than those of a group: powers of two */
    uint32_t waiting;     /* how many wait: all places are taken, but at the start */
    void *blocks[DELAY_MAX];
};

struct delay {
    uint64_t random; /* of `harden_random` */
    struct delay_queue queues[MARK_COUNT];
};

/* For a heap; NULL when memory is out. */
struct delay *delay_make(void);
/* Where the queue has the block whose turn it is to leave, or NULL. */
INLINE void **delay_place(struct delay_queue *queue)
{
    return &queue->blocks[(queue->next ^ queue->turned) & queue->mask];
}
/* The place has been taken. */
INLINE void delay_next(struct delay *delay, struct delay_queue *queue)
{
    uint8_t next = (uint8_t)(queue->next + 1);
    queue->next = next;
    if (unlikely((next & queue->group) == 0))
        queue->turned = (uint8_t)harden_random(&delay->random, queue->group + 1u);
}
/* One that waits, in no order; NULL when there are none. */
void *delay_take_any(struct delay *delay);
/* How many blocks of the mark wait. */
size_t delay_count(const struct delay *delay, unsigned mark);

#endif
