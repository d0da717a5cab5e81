/* SPDX-License-Identifier: MIT */
/*
 * A lock for code below malloc. It holds the owner's thread id, so that a forked child can tell
 * that the owner does not exist there. Each thread knows which ranks it holds, so that a signal
 * handler that enters the allocator while its own thread is inside notices that instead of waiting
 * for itself.
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
    LOCK_CPU,
    LOCK_INIT,
    LOCK_REGISTRY,
    LOCK_CENTRAL,
    LOCK_THREADS,
    LOCK_SITES,
    LOCK_RECENT,
    LOCK_PAGES,
    LOCK_ARENA,
    LOCK_OUTSIDE,
    LOCK_GUARD,
};

struct lock {
    uint32_t word; /* 0, or the owner's thread id; the top bit is set while threads wait */
    uint8_t rank;
    uint32_t last;  /* thread that took it last, */
    uint32_t turns; /* and how often that was another one than before */
    uint64_t ops;   /* how often it was taken */
};

/*
 * What the calling thread holds. Non-zero on entry to the allocator means that a signal interrupted
 * it inside, or that a handler jumped out of it (lib/api/abandoned.c). One word, so that a handler
 * finds both parts or neither:
 *
 *      | where the stack stood at the first of them, in 8 bytes: 48 bits | flags: 2 | ranks: 14 |
 */
extern HIDDEN __thread uint64_t lock_held;
/* The calling thread had to sleep for a lock, ever. */
extern HIDDEN __thread bool lock_slept;

enum {
    LOCK_RANKS = (1 << 14) - 1, /* a bit a rank */
    LOCK_SIGNED = 1 << 14,      /* the stack pointer in the word is meaningful to
                                   lib/api/abandoned.c */
    LOCK_CALLS = 1 << 15,       /* from inside, code that may allocate was called */
    LOCK_FRAME_AT = 16,
    LOCK_FRAME_SHIFT = 3,
};
_Static_assert(LOCK_GUARD < 14, "there is a bit for each rank");

/* A stack pointer as it is stored in the word. */
INLINE uint64_t lock_frame_word(uintptr_t frame)
{
    return (uint64_t)frame >> LOCK_FRAME_SHIFT << LOCK_FRAME_AT;
}

/* And back; 0 if the thread holds nothing, or the position is not known. */
INLINE uintptr_t lock_place(uint64_t word)
{
    return (uintptr_t)(word >> LOCK_FRAME_AT << LOCK_FRAME_SHIFT);
}

/* Notes the rank; the stack pointer is `frame`. */
INLINE void lock_enter(enum lock_rank rank, uintptr_t frame)
{
    uint64_t held = lock_held;
    lock_held = (held == 0 ? lock_frame_word(frame) : held) | (uint64_t)1 << rank;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

INLINE void lock_leave(enum lock_rank rank)
{
    uint64_t held = lock_held & ~((uint64_t)1 << rank);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock_held = (held & LOCK_RANKS) == 0 ? 0 : held;
}

/* Around a call of code that is not ours, from inside: what that allocates is served as in a signal
 * handler. It is no proof that the call inside was left. */
INLINE void lock_calls_begin(void)
{
    lock_held |= LOCK_CALLS;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

INLINE void lock_calls_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock_held &= ~(uint64_t)LOCK_CALLS;
}

void lock_take(struct lock *lock);
/* Takes the lock if it is free. */
bool lock_try(struct lock *lock);
/* Takes it, unless several threads wait for it already: with more threads than processors, its
 * owner may not run for long, and each thread that waits costs two context switches. */
bool lock_take_uncrowded(struct lock *lock);
/* Takes it if it is free now or very soon: it does not sleep. */
bool lock_take_awake(struct lock *lock);
void lock_give(struct lock *lock);
/* The calling thread's id, from memory where possible. */
uint32_t lock_self(void);
/* Whether the calling thread holds the lock. */
bool lock_is_own(const struct lock *lock);

/* What happened to a lock so far. Waiting threads are noted for the first LOCK_CONTENDED_MAX locks
 * that any thread had to wait for. */
enum { LOCK_CONTENDED_MAX = 512, LOCK_KNOWN_MAX = 32 };
struct lock_counts {
    uint64_t ops, turns;
    uint64_t spins, waits; /* taken after some spinning; after a sleep */
    uint64_t wait_ns, wait_ns_max;
    uint32_t threads_max; /* that waited at once */
};
void lock_count(const struct lock *lock, struct lock_counts *sum);
void lock_count_reset(struct lock *lock);
/* The locks of all ranks but that of a centre, of which there are many, as far as any was taken, in
 * no order; NULL past the last one. */
struct lock *lock_known(unsigned number);

/* A flag for work that one thread does while the others skip it: it holds the thread's id. */
INLINE bool turn_take(uint32_t *turn)
{
    uint32_t none = 0;
    return __atomic_compare_exchange_n(turn, &none, lock_self(), false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

INLINE void turn_give(uint32_t *turn)
{
    store_release(turn, 0);
}

/* Takes it once the thread that has it is done, awake for a moment, then asleep: with more threads
 * than processors that one may not be running. A thread that is gone has left it. False: it was not
 * done within `patience_ms`, or is the calling thread, in a signal handler. */
bool turn_wait(uint32_t *turn, uint32_t patience_ms);

/* Gives up the work: for a thread that does none, or that jumped out of it. */
INLINE void turn_abandon(uint32_t *turn)
{
    if (load_relaxed(turn) == lock_self())
        turn_give(turn);
}

/* In a forked child, a thread that was interrupted inside (its handler forked) may find a lock
 * whose owner exists only in the parent. It takes the lock over, and `repair` repairs what the lock
 * protects. */
extern HIDDEN void (*lock_repair)(struct lock *lock);
/* Whether this is a child with a copy of its parent's memory that has not been repaired yet. */
extern HIDDEN bool (*lock_memory_copied)(void);

/* In a forked child: forget the cached thread id, so that the next call asks the kernel. */
void lock_forget_self(uint32_t *parent_id);
/* In a forked child: no thread of the parent waits here. */
void lock_forget_waiting(void);
/* In a forked child: frees the lock unless `owner`, this thread's id in the parent, holds it (then
 * it passes to the child's thread). True if another thread held it. */
bool lock_break(struct lock *lock, uint32_t owner);

#endif
