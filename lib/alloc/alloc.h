/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/alloc: memory, and nothing about profiling.
 *
 * Words: a *unit* is 4 KiB of the window; a *span* is a run of units, cut into *blocks* of one
 * *class* or holding one large block; a *heap* is what one thread allocates from, a *bin* its stack
 * of free blocks of one mark, a *stock* the memory of that stack; the *centre* of a mark holds the
 * blocks that no heap has; a *pool* is the memory of one NUMA node; a *mark* is the number that
 * says what a block is (sizes.h); the *window* is where all addresses come from (arena.h).
 *
 * Going down: heap.c (no lock) -> central.c (a lock a mark and pool) -> pages.c (a lock a pool) ->
 * arena.c (one lock) -> base/os_memory.c; beside them, when the window can't grow, outside.c. Which
 * blocks are sampled is decided above this room.
 */
#ifndef ALLOC_ALLOC_H
#define ALLOC_ALLOC_H

#include "lib/alloc/account.h"
#include "lib/alloc/central.h"
#include "lib/alloc/cut.h"
#include "lib/alloc/delay.h"
#include "lib/alloc/empty.h"
#include "lib/alloc/fatal.h"
#include "lib/alloc/heap.h"
#include "lib/alloc/held.h"
#include "lib/alloc/large.h"
#include "lib/alloc/lent.h"
#include "lib/alloc/outside.h"
#include "lib/alloc/owner.h"
#include "lib/alloc/shifted.h"
#include "lib/alloc/spare.h"
#include "lib/alloc/tail.h"
#include "lib/window/window.h"

/* Once, by one thread, after the options are read. False if there is no memory at all. */
bool alloc_init(void);
/* Gives idle memory to the kernel now, all or until it is at least `max` bytes; returns how
 * many. */
size_t alloc_purge(size_t max);

/* After fork: recover.c. `alloc_fork_watch` is true where the kernel tells children by itself;
 * `alloc_fork_child` is for where it does not. */
bool alloc_fork_watch(void);
void alloc_fork_child(void);
enum alloc_state {
    ALLOC_FORKED,    /* in a child: nothing is repaired yet */
    ALLOC_SETTLED,   /* all is well */
    ALLOC_UNCLAIMED, /* a thread that the child has made repaired it; the one that forked has not
                        come by */
    ALLOC_REPAIRING, /* a thread is at it */
};
extern HIDDEN uint32_t *alloc_state;
INLINE bool alloc_settled(void)
{
    return load_relaxed(alloc_state) == ALLOC_SETTLED;
}
INLINE bool alloc_forked(void)
{
    return load_relaxed(alloc_state) == ALLOC_FORKED;
}
/* If the memory is not settled: true if the calling thread is to repair it now. Waits for another
 * one that does so already. */
bool alloc_repair_begin(void);
/* `parent_id` is the thread's id in the parent; `first`: it is the one that forked. Otherwise the
 * heaps of the parent's threads stay as they are, since one of them is in use. */
void alloc_recover(uint32_t parent_id, bool first);
/* The thread that forked comes by after another one has repaired: gives the heaps of the parent's
 * other threads back. */
void alloc_claim(void);
void alloc_repair_end(bool first);
/* The thread's last call inside was left by a jump out of a signal handler: recover.c. */
void alloc_abandoned(void);

#endif
