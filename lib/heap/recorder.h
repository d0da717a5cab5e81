/* SPDX-License-Identifier: MIT */
/*
 * What a thread needs while it records a block: room for a walk, and sites that it found lately.
 * While a thread's heap has every block recorded, the thread keeps its recorder, and each walk
 * begins where the last one left off; otherwise it borrows one for the moment, since ten thousand
 * threads with a sample each must not have ten thousand of them. Nor may a thread without a heap
 * keep one: its end would not be noticed. A thread that borrows gets the recorder it had last if
 * that one is idle in its place; if no other thread used it since, its walk and its sites are still
 * valid.
 */
#ifndef HEAP_RECORDER_H
#define HEAP_RECORDER_H

#include "lib/watch/watch.h"

enum { RECORDER_SITES = 64 };

/* Estimates that are not yet added to the totals of all. */
struct batch {
    uint64_t allocated, freed, objects;
};

struct recorder {
    struct walk walk;
    struct {
        uint32_t stack, kind, site;
    } sites[RECORDER_SITES];
    struct batch batch; /* counted by this thread */
    unsigned era;       /* in which it was */
    /* Above these, or when the heap has grown by so much, it is time to look at the totals. */
    uint64_t allocated_most, freed_most, room;
    uint32_t owner; /* the thread that had it last */
    bool kept;
};

/* NULL when memory is out. */
struct recorder *recorder_take(void);
void recorder_give(struct recorder *recorder);
/* Nothing is counted, and the next event looks at the totals. */
INLINE void recorder_clear(struct recorder *recorder)
{
    recorder->batch = (struct batch){0};
    recorder->allocated_most = recorder->freed_most = recorder->room = 0;
}
/* The calling thread's own, if it keeps one. */
struct recorder *recorder_kept(void);
/* The thread goes back to borrowing. */
void recorder_drop(void);
/* It ends: what it allocates from now on is counted elsewhere, so it owns no recorder's sites. */
void recorder_thread_end(void);
/* Whether an address is in the calling thread's own stack, as far as its walks have found out. */
bool recorder_own_stack(uintptr_t sp);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void recorder_abandoned(void);
/* One that nobody has, for the next who needs it. */
void recorder_put_back(struct recorder *recorder);
/* Of a thread that is gone (track.c): what it counted is added, and it goes back. */
void totals_inherit(struct recorder *recorder);

#endif
