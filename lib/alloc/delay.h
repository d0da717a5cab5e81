/* SPDX-License-Identifier: MIT */
/*
 * With `harden`: freed blocks that wait before they are used again. Each heap has two queues, for
 * small blocks and for others; what leaves them goes to its bin, from which malloc takes any of the
 * newest. Large blocks wait elsewhere (large.c).
 */
#ifndef ALLOC_DELAY_H
#define ALLOC_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/window/window.h"

enum {
    DELAY_SMALL = 64, /* blocks up to 1 KiB, */
    DELAY_MIDDLE = 8, /* and others */
};

struct delay {
    uint64_t random;           /* of `harden_random` */
    uint8_t next, next_middle; /* in the queues: the oldest */
    bool ready; /* the thread's calls may take the short roads (lib/api/hardening.h) */
    uint8_t waiting[MARK_COUNT]; /* how many blocks of each mark: all wait in one of the queues */
    uint64_t queue[DELAY_SMALL], queue_middle[DELAY_MIDDLE]; /* slots with marks (slot.h), or 0 */
};

/* For a heap; NULL when memory is out. */
struct delay *delay_make(void);
/* A slot of the longest-waiting block, whose place a new one takes. */
#define DELAY_OLDEST(delay, small)                            \
    ((small) ? &(delay)->queue[(delay)->next++ % DELAY_SMALL] \
             : &(delay)->queue_middle[(delay)->next_middle++ % DELAY_MIDDLE])
/* One that waits, in no order; NULL when there are none. */
void *delay_take_any(struct delay *delay);
/* How many blocks of the mark wait. */
size_t delay_count(const struct delay *delay, unsigned mark);

#endif
