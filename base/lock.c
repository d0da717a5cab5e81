/* SPDX-License-Identifier: MIT */
/* See base/lock.h. A futex mutex: one compare-and-swap to take, one exchange to give. */
#include "base/lock.h"

#include "base/arch.h"
#include "base/compiler.h"
#include "base/os.h"

enum {
    WAITED = 1u << 31,
    SPINS = 200,
    PATIENCE_MS = 20,       /* first sleep of a waiter; each further one is twice as long. */
    PATIENCE_MOST_MS = 640, /* after a sleep this long the waiter asks whether the owner exists */
};

__thread uint64_t lock_held;
void (*lock_repair)(struct lock *lock);
bool (*lock_memory_copied)(void);
static __thread uint32_t self_id;

static NOINLINE uint32_t self_slow(void);

uint32_t lock_self(void)
{
    return likely(self_id != 0) ? self_id : self_slow();
}

/* The id is not cached in a vfork child, whose thread-local memory is its parent's. */
static NOINLINE uint32_t self_slow(void)
{
    uint32_t id = (uint32_t)os_tid();
    if (!os_shares_memory())
        self_id = id;
    return id;
}

/* Whether the thread with this id can never give the lock back. A child that shares its parent's
 * memory (vfork) can't tell: the kernel does not show it the threads of its parent, and a stopped
 * one looks like an ended one. The owner may be such a child itself, a process of its own. */
static bool owner_is_gone(uint32_t owner)
{
    pid_t id = (pid_t)owner;
    if (lock_memory_copied != NULL && lock_memory_copied())
        return !os_thread_alive(id);
    return os_thread_gone(id) && !os_thread_of_alive(id, id);
}

static NOINLINE void take_slow(struct lock *lock, uint32_t self)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t free = 0;
        if (load_relaxed(&lock->word) == 0 &&
            __atomic_compare_exchange_n(&lock->word, &free, self, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
        arch_pause();
    }
    for (uint32_t patience = PATIENCE_MS;;) {
        uint32_t seen = load_relaxed(&lock->word);
        if (seen == 0) {
            /* Other threads may still sleep, so the thread that leaves this loop keeps the bit. */
            if (__atomic_compare_exchange_n(&lock->word, &seen, self | WAITED, false,
                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return;
            continue;
        }
        if (!(seen & WAITED) &&
            !__atomic_compare_exchange_n(&lock->word, &seen, seen | WAITED, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        uint64_t from_ms = os_now_ms();
        os_wait(&lock->word, seen | WAITED, patience);
        bool long_enough = os_now_ms() - from_ms >= PATIENCE_MOST_MS;
        patience = patience < PATIENCE_MOST_MS ? patience * 2 : 2 * PATIENCE_MOST_MS;
        uint32_t after = load_relaxed(&lock->word);
        if (long_enough && after == (seen | WAITED) && owner_is_gone(after & ~WAITED) &&
            __atomic_compare_exchange_n(&lock->word, &after, self | WAITED, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            if (lock_repair != NULL)
                lock_repair(lock);
            return;
        }
    }
}

/* The two ranks up to LOCK_INIT are never treated as abandoned: no handler runs while a dump is
 * written, and a jump out of the library's start leads nowhere. */
#define frame_of(lock) ((lock)->rank > LOCK_INIT ? (uintptr_t)__builtin_frame_address(0) : 0)

/* The rank is set before the lock is taken and cleared after it is given: a signal handler in
 * between may see it too early or too late, but never misses it. */
void lock_take(struct lock *lock)
{
    uint32_t free = 0, self = lock_self();
    lock_enter(lock->rank, frame_of(lock));
    if (unlikely(!__atomic_compare_exchange_n(&lock->word, &free, self, false, __ATOMIC_ACQUIRE,
                                              __ATOMIC_RELAXED)))
        take_slow(lock, self);
}

bool lock_try(struct lock *lock)
{
    uint32_t free = 0, self = lock_self();
    lock_enter(lock->rank, frame_of(lock));
    bool taken = __atomic_compare_exchange_n(&lock->word, &free, self, false, __ATOMIC_ACQUIRE,
                                             __ATOMIC_RELAXED);
    if (!taken)
        lock_leave(lock->rank);
    return taken;
}

void lock_give(struct lock *lock)
{
    bool waited = __atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) & WAITED;
    lock_leave(lock->rank);
    if (unlikely(waited))
        os_wake(&lock->word, 1);
}

bool lock_is_own(const struct lock *lock)
{
    return (load_relaxed(&lock->word) & ~WAITED) == lock_self();
}

void lock_forget_self(uint32_t *parent_id)
{
    *parent_id = self_id;
    self_id = 0;
}

bool lock_break(struct lock *lock, uint32_t owner)
{
    uint32_t holder = load_relaxed(&lock->word) & ~WAITED;
    if (holder == 0)
        return false;
    bool ours = holder == owner;
    store_relaxed(&lock->word, ours ? lock_self() : 0);
    return !ours;
}
