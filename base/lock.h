/* SPDX-License-Identifier: MIT */
/*
 * A lock for code below malloc. It holds the id of the thread that has it, so that whoever finds
 * it taken in a forked child, where that thread does not exist, can tell; and each thread knows
 * which ranks it holds, so that a signal handler that enters the allocator while its own thread is
 * inside notices instead of waiting for itself.
 *
 * Nothing holds a lock across fork. A child breaks the locks of vanished threads and rebuilds what
 * they protected (lib/alloc/recover.c).
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Lock order: a thread that holds a rank takes only higher ones. */
enum lock_rank {
    LOCK_INSIDE, /* no lock: the thread is in the allocator's slow code */
    LOCK_DUMP,
    LOCK_INIT,
    LOCK_REGISTRY,
    LOCK_CENTRAL,
    LOCK_THREADS,
    LOCK_SITES,
    LOCK_RECENT,
    LOCK_PAGES,
    LOCK_META,
    LOCK_ARENA,
    LOCK_OUTSIDE,
};

struct lock {
    uint32_t word; /* 0, or the owner's thread id, and the top bit when somebody waits */
    uint8_t rank;
};

/* What the calling thread holds, a bit a rank. Non-zero on entry to the allocator means that a
 * signal interrupted it inside. */
extern HIDDEN __thread uint32_t lock_held;

INLINE void lock_enter(enum lock_rank rank)
{
    lock_held |= 1u << rank;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

INLINE void lock_leave(enum lock_rank rank)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock_held &= ~(1u << rank);
}

void lock_take(struct lock *lock);
/* Takes it unless somebody has it. */
bool lock_try(struct lock *lock);
void lock_give(struct lock *lock);
/* The calling thread's id, from memory where possible. */
uint32_t lock_self(void);

/* In a forked child, a thread that was interrupted inside (its handler forked) may come upon a lock
 * whose owner stayed behind. It takes it over, and `repair` mends what the lock protects. */
extern HIDDEN void (*lock_repair)(struct lock *lock);
/* Whether this is a child with a copy of its parent's memory that has not been repaired yet. */
extern HIDDEN bool (*lock_memory_copied)(void);

/* In a forked child: forget the cached thread id, so that the next call asks the kernel. */
void lock_forget_self(uint32_t *parent_id);
/* In a forked child: frees the lock unless `owner`, this thread's id in the parent, has it (then
 * it is handed on to the child's thread). True if somebody else had it. */
bool lock_break(struct lock *lock, uint32_t owner);

#endif
