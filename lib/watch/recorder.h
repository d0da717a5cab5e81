/* SPDX-License-Identifier: MIT */
/*
 * What a thread needs while it records a block: room for a walk, and sites that it found lately.
 * When every block is recorded a thread keeps its recorder, and each walk begins where the last one
 * left off; otherwise it borrows one for the moment, since ten thousand threads with a sample
 * each must not have ten thousand of them.
 */
#ifndef WATCH_RECORDER_H
#define WATCH_RECORDER_H

#include "lib/watch/unwind.h"

enum { RECORDER_SITES = 64 };

struct recorder {
    struct walk walk;
    struct {
        uint32_t stack, kind, site;
    } sites[RECORDER_SITES];
    /* Counted by this thread and not yet added to the totals of all. */
    uint64_t allocated, freed, objects;
    /* Above these, or when the heap has grown by so much, it is time to look at the totals. */
    uint64_t allocated_most, freed_most, room;
    bool kept;
};

/* NULL when memory is out. */
struct recorder *recorder_take(bool keep);
void recorder_give(struct recorder *recorder);
/* Nothing is counted, and the next event looks at the totals. */
INLINE void recorder_clear(struct recorder *recorder)
{
    recorder->allocated = recorder->freed = recorder->objects = 0;
    recorder->allocated_most = recorder->freed_most = recorder->room = 0;
}
/* The calling thread's own, if it keeps one. */
struct recorder *recorder_kept(void);
/* The thread ends or goes back to borrowing. */
void recorder_drop(void);

#endif
