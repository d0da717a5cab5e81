/* SPDX-License-Identifier: MIT */
/*
 * What a thread needs while it records a block: memory for a walk, and the sites that it used last.
 * While every block of a thread's heap is recorded, the thread keeps its recorder, and each walk
 * takes over what the last one knew. Otherwise it borrows one for a single block, because ten
 * thousand threads with a sample each must not take the memory of ten thousand recorders. A thread
 * without a heap always borrows: its exit would not be noticed. A thread that borrows gets the
 * recorder that it had last if that one is idle in its slot; if no other thread has used it since,
 * its walk and its sites are still valid.
 */
#ifndef HEAP_RECORDER_H
#define HEAP_RECORDER_H

#include "lib/watch/watch.h"

enum { RECORDER_SITES = 64 }; /* last used sites, by a hash of the stack */

/* Estimates that are not yet added to the totals of all threads. */
struct batch {
    uint64_t allocated, freed, objects;
};

struct recorder {
    struct walk walk;
    struct {
        uint32_t stack, kind, site;
    } sites[RECORDER_SITES];
    struct batch batch; /* counted by this thread */
    unsigned era;       /* the era of `batch` */
    /* Limits for this thread: beyond them the totals must be looked at. `room` is for growth. */
    uint64_t allocated_max, freed_max, room;
    uint32_t owner; /* the thread that had it last */
    bool kept;
};

/* NULL if memory is out. */
struct recorder *recorder_take(void);
void recorder_give(struct recorder *recorder);
/* Empties the batch, so that the next event looks at the totals. */
INLINE void recorder_clear(struct recorder *recorder)
{
    recorder->batch = (struct batch){0};
    recorder->allocated_max = recorder->freed_max = recorder->room = 0;
}
/* What the calling thread keeps, or has borrowed for this call. */
extern HIDDEN __thread struct recorder *recorder_mine;
/* The calling thread's own recorder; NULL if it borrows. */
INLINE struct recorder *recorder_kept(void)
{
    struct recorder *mine = recorder_mine;
    return mine != NULL && mine->kept ? mine : NULL;
}
/* The thread goes back to borrowing. */
void recorder_drop(void);
/* The thread ends: its later allocations are counted elsewhere, so it owns no sites any more. */
void recorder_thread_end(void);
/* Whether an address is in the calling thread's own stack, as far as its walks have found that out.
 */
bool recorder_own_stack(uintptr_t sp);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void recorder_abandoned(void);
/* Makes a recorder that no thread uses available to the next thread. */
void recorder_put_back(struct recorder *recorder);
/* The recorder's thread has exited (track.c): adds its batch to the totals and puts it back. */
void totals_inherit(struct recorder *recorder);

#endif
