/* SPDX-License-Identifier: MIT */
/*
 * Threads without a heap. A heap pays from a few dozen calls on; a thread that makes fewer, and there may
 * be ten thousand of them, is served from the centre, a lock a call, and keeps nothing. Such threads
 * share one sampling clock.
 */
#ifndef API_YOUNG_H
#define API_YOUNG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/alloc/alloc.h"

/* What a thread has before it has a heap, and keeps: in thread-local memory. */
struct young {
    uint32_t calls; /* mallocs and frees that came here */
    bool known;     /* the next two are set */
    uint8_t colour, pool;
    bool ended;            /* the thread's destructors have run */
    struct heap_sums sums; /* for the thread's own totals */
};

extern HIDDEN __thread struct young young;

/* True while the thread is better off without a heap. Counts the call. */
bool young_is(void);
/* The shared clock: true if `bytes` more include a sample. */
bool young_ring(size_t bytes);
/* A new rate: the clock starts anew. */
void young_reset(void);
void young_recover(uint32_t parent_id);

#endif
