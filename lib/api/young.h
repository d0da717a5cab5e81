/* SPDX-License-Identifier: MIT */
/*
 * Threads without a heap. A new heap pays off after some dozen calls, a parked one after a few. A
 * thread with fewer calls, and there may be ten thousand of them, is served from the centre, one
 * lock a call, and keeps nothing.
 */
#ifndef API_YOUNG_H
#define API_YOUNG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/alloc/alloc.h"
#include "lib/heap/observer.h"

/* What a thread has before it has a heap, and keeps: in thread-local memory. */
/* Packed: libraries that are loaded late get little thread-local memory. */
struct young {
    uint32_t calls;      /* mallocs and frees that came here */
    uint32_t number;     /* of the thread, counted from the start of the process */
    uint32_t generation; /* the mode that the clock was set in */
    uint16_t on_top;     /* calls in a row with more signals blocked than usual */
    uint8_t colour : 4, pool : 4;
    bool known : 1;     /* number, colour and pool are set */
    bool ended : 1;     /* the thread's destructors have run */
    bool deferring : 1; /* it is in the program's function for deferred frees (mimalloc), */
    bool lending : 1;   /* or in one that lends memory (jemalloc's extent hooks), */
    bool quiet : 1;     /* or in a hook (hooks.h), or a call that tells the hooks itself */
    int64_t clock;      /* bytes until the next sample */
    uint64_t random;
    struct heap_sums sums;         /* blocks that no bin saw, for the thread's own totals */
    struct totals_counted counted; /* the part of them and of the heap's that was reported to the
                                      profile */
    uint64_t open;                 /* signals that the thread does not block; never 0 once known */
    void (*look)(void);            /* watches those totals: called after each slow call; or NULL */
};

extern HIDDEN __thread struct young young;

/* True while the thread needs no heap. Counts the call. */
bool young_is(void);
/* An odd number, unique to the thread and hard to guess. */
uint64_t young_seed(void);
/* True if `bytes` more include a sample. */
bool young_ring(size_t bytes);
/* At the thread's first call, and when it gets its heap: what it does not block now is usual. */
void young_note_signals(void);
/* Whether this may be a signal handler that interrupted the thread's own malloc or free on the hot
 * path. The bins must not change then, or a block would be handed out twice. */
bool young_in_handler(void);
/* What the calling thread has allocated and freed, before it had a heap and since. */
void young_thread_sums(struct account_sum *sum);
/* Adds a block that no bin saw to these totals. The sums over all threads have it already. */
void young_sum(struct heap_sums more);
/* In a forked child, once: remembers whether the parent had other threads, */
void young_forked(void);
/* and tells: such a thread may hold a lock of libc for ever. */
bool young_left_threads(void);
/* Reports these totals to the profile (`totals_count`). */
void young_count(void);

#endif
