/* SPDX-License-Identifier: MIT */
/*
 * Freed debugged blocks in the order of their frees. They leave when those behind them have more
 * bytes than the option debug.queue, or there are too many. What has left is the caller's, to look
 * at and to give back.
 */
#ifndef GUARD_DEBUG_QUEUE_H
#define GUARD_DEBUG_QUEUE_H

#include "base/lock.h"
#include "lib/guard/debug.h"

struct debug_entry {
    struct debug_place place; /* start NULL: a block that is kept elsewhere, and counts here */
    char *p;
    size_t size;
    unsigned family;
    struct cell_event born, died;
};

extern struct lock debug_queue_lock;

/* The bytes that it may hold; where the program changes `*flag`, that many. */
void debug_queue_limit(size_t bytes, const int32_t *flag);
/* False if there is no memory for a queue. */
bool debug_queue_push(const struct debug_entry *entry);
/* The oldest, if there is more than may be; `all`: in any case. False: there is none. */
bool debug_queue_pop(struct debug_entry *entry, bool all);
/* What is known about a block in the queue that p was, or whose memory p is in. */
bool debug_queue_find(const char *p, struct debug_entry *entry);
/* Calls `each` for every entry; the lock is held. */
void debug_queue_each(void (*each)(const struct debug_entry *entry));

struct debug_queue_sums {
    uint64_t blocks, bytes;
};
struct debug_queue_sums debug_queue_sums(void);
/* Bytes of the queue itself that are in memory; `parts_max` as for `os_resident`. */
size_t debug_queue_resident(size_t parts_max);

/* In a forked child, and after a jump out of a signal handler. */
void debug_queue_recover(uint32_t parent_id);
void debug_queue_abandoned(void);

#endif
