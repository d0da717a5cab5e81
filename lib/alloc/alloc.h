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
#include "lib/alloc/arena.h"
#include "lib/alloc/central.h"
#include "lib/alloc/fatal.h"
#include "lib/alloc/heap.h"
#include "lib/alloc/held.h"
#include "lib/alloc/large.h"
#include "lib/alloc/meta.h"
#include "lib/alloc/outside.h"
#include "lib/alloc/sizes.h"
#include "lib/alloc/span.h"
#include "lib/alloc/spare.h"

/* Once, by one thread, after the options are read. False if there is no memory at all. */
bool alloc_init(void);
/* Gives all idle memory to the kernel now; how many bytes. */
size_t alloc_purge(void);

/* After fork: recover.c. `alloc_fork_watch` is true where the kernel tells children by itself;
 * `alloc_fork_child` is for where it does not; a child repairs with `alloc_recover` on its first
 * cold visit, which `alloc_forked` tells. */
bool alloc_fork_watch(void);
void alloc_fork_child(void);
extern HIDDEN uint32_t *alloc_canary; /* 0 in a child that has not repaired yet */
INLINE bool alloc_forked(void)
{
    return load_relaxed(alloc_canary) == 0;
}
void alloc_recover(void);
/* The thread's last call inside was left by a jump out of a signal handler: recover.c. */
void alloc_abandoned(void);

#endif
