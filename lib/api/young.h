/* SPDX-License-Identifier: MIT */
/*
 * Threads without a heap. A heap pays from a few dozen calls on, a parked one from a few; a thread
 * that makes fewer, and there may be ten thousand of them, is served from the centre, a lock a
 * call, and keeps nothing.
 */
#ifndef API_YOUNG_H
#define API_YOUNG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/alloc/alloc.h"
#include "lib/heap/observer.h"

/* What a thread has before it has a heap, and keeps: in thread-local memory. */
/* Packed: libraries that are loaded late have little room for thread-local memory. */
struct young {
    uint32_t calls;      /* mallocs and frees that came here */
    uint32_t number;     /* of the thread, counted from the start of the process */
    uint32_t generation; /* the mode that the clock was set in */
    uint16_t on_top;     /* calls in a row with fewer signals let in */
    uint8_t colour : 4, pool : 4;
    bool known : 1; /* number, colour and pool are set */
    bool ended : 1; /* the thread's destructors have run */
    int64_t clock;  /* bytes until the next sample */
    uint64_t random;
    struct heap_sums sums;         /* blocks that no bin saw, for the thread's own totals */
    struct totals_counted counted; /* of them and the heap's, what was told to the profile */
    uint64_t open;                 /* signals that the thread lets in, if it has a heap */
    void (*look)(void);            /* watches those totals: called after each slow call; or NULL */
};

extern HIDDEN __thread struct young young;

/* True while the thread is better off without a heap. Counts the call. */
bool young_is(void);
/* A number that no other thread has and nobody can guess, odd. */
uint64_t young_seed(void);
/* True if `bytes` more include a sample. */
bool young_ring(size_t bytes);
/* The thread got its heap. */
void young_grown(void);
/* Whether this may be a signal handler that interrupted the thread's own malloc or free on the hot
 * path. The bins must stay as they are then, or what is there is handed out a second time. */
bool young_on_top(void);
/* What the calling thread has allocated and freed, before it had a heap and since. */
void young_thread_sums(struct account_sum *sum);
/* Adds a block that no bin saw to these totals. The sums of all threads have it already. */
void young_sum(struct heap_sums more);
/* In a forked child, once: whether threads stayed behind is remembered, */
void young_forked(void);
/* and told: locks of libc's may be theirs for ever. */
bool young_left_threads(void);
/* Passes these totals on to the profile (`totals_count`). */
void young_count(void);

#endif
