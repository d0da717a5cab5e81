/* SPDX-License-Identifier: MIT */
/*
 * See base/lock.h. A futex mutex: one compare-and-swap to take, one exchange to give. The thread
 * that has it counts in the lock itself, in a line that it owns anyway; waiting, which is rare, is
 * counted in a table of the locks that threads have waited for.
 */
#include "base/lock.h"

#include "base/arch.h"
#include "base/compiler.h"
#include "base/os.h"

enum {
    WAITED = 1u << 31,
    SPINS = 200,           /* long enough for a holder that runs; more would keep one that does not
                               from running (docs/DECISIONS.md, Threads) */
    SPINS_AWAKE = 16,      /* where the caller can do without: with 200, 10,000 threads took twice
                               the CPU time */
    TURN_STEP_MS = 16,     /* longest sleep between two looks at a turn */
    PATIENCE_MS = 320,     /* first sleep of a waiter; each further one is twice as long. With a
                               shorter one, thousands of waiters wake each other for nothing. */
    PATIENCE_MAX_MS = 640, /* after this long the waiter asks whether the owner exists */
    CROWD = 4,             /* threads that wait: more than programs with few threads have */
};

__thread uint64_t lock_held;
__thread bool lock_slept;
void (*lock_repair)(struct lock *lock);
bool (*lock_memory_copied)(void);
static __thread uint32_t self_id;

/* A lock that threads had to wait for. */
static BULK struct contended {
    const struct lock *lock;
    uint64_t spins, waits, wait_ns, wait_ns_max;
    uint32_t threads, threads_max;
} contended[LOCK_CONTENDED_MAX];
static bool any_contended; /* some of these are in use */
static BULK struct lock *known[LOCK_KNOWN_MAX];
static uint32_t known_count;

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

/* Where waiting for the lock is noted; NULL: there are too many. */
static struct contended *contended_at(const struct lock *lock, bool make)
{
    uintptr_t at = hash_word((uintptr_t)lock) >> 32;
    for (unsigned i = 0; i < LOCK_CONTENDED_MAX; i++) {
        struct contended *place = &contended[(at + i) % LOCK_CONTENDED_MAX];
        const struct lock *found = load_acquire(&place->lock);
        if (found == NULL && make &&
            __atomic_compare_exchange_n(&place->lock, &found, lock, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            store_relaxed(&any_contended, true);
            return place;
        }
        if (found == lock)
            return place;
        if (found == NULL)
            return NULL;
    }
    return NULL;
}

static void raise_u64(uint64_t *max, uint64_t value)
{
    uint64_t seen = load_relaxed(max);
    while (seen < value && !__atomic_compare_exchange_n(max, &seen, value, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
}

static void take_contended(struct lock *lock, uint32_t self, uint64_t *slept_ns);

static NOINLINE void take_slow(struct lock *lock, uint32_t self)
{
    struct contended *place = contended_at(lock, true);
    uint64_t from_ns = 0;
    if (place == NULL) {
        take_contended(lock, self, &from_ns);
        return;
    }
    uint32_t threads = __atomic_add_fetch(&place->threads, 1, __ATOMIC_RELAXED);
    if (threads > load_relaxed(&place->threads_max))
        store_relaxed(&place->threads_max, threads);
    take_contended(lock, self, &from_ns);
    __atomic_fetch_add(from_ns != 0 ? &place->waits : &place->spins, 1, __ATOMIC_RELAXED);
    threads = load_relaxed(&place->threads); /* 0: a handler forked, and this is the child */
    while (threads > 0 && !__atomic_compare_exchange_n(&place->threads, &threads, threads - 1, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (from_ns == 0)
        return;
    uint64_t ns = os_now_ns() - from_ns;
    __atomic_fetch_add(&place->wait_ns, ns, __ATOMIC_RELAXED);
    raise_u64(&place->wait_ns_max, ns);
}

/* For as long as its owner needs it if that is running. */
static bool take_spinning(struct lock *lock, uint32_t self, int spins)
{
    for (int i = 0; i < spins; i++) {
        uint32_t free = 0;
        if (load_relaxed(&lock->word) == 0 &&
            __atomic_compare_exchange_n(&lock->word, &free, self, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return true;
        arch_pause();
    }
    return false;
}

/* *slept_ns: when it went to sleep first; 0: spinning was enough. */
static void take_contended(struct lock *lock, uint32_t self, uint64_t *slept_ns)
{
    if (take_spinning(lock, self, SPINS))
        return;
    uint64_t since_ms = 0; /* the lock has had the same owner since, as far as is known */
    uint32_t owner = 0;
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
        if (owner != (seen & ~WAITED)) {
            owner = seen & ~WAITED;
            since_ms = os_now_ms();
        }
        if (*slept_ns == 0)
            *slept_ns = os_now_ns();
        lock_slept = true;
        os_wait(&lock->word, seen | WAITED, patience);
        patience = patience < PATIENCE_MAX_MS ? patience * 2 : 2 * PATIENCE_MAX_MS;
        uint64_t now_ms = os_now_ms();
        if (now_ms - since_ms < PATIENCE_MAX_MS) /* signals may end each sleep early */
            continue;
        since_ms = now_ms;
        uint32_t after = load_relaxed(&lock->word);
        if (after == (seen | WAITED) && owner_is_gone(after & ~WAITED) &&
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

static NOINLINE void know(struct lock *lock)
{
    if (lock->rank == LOCK_CENTRAL)
        return;
    uint32_t number = __atomic_fetch_add(&known_count, 1, __ATOMIC_RELAXED);
    if (number < LOCK_KNOWN_MAX)
        store_release(&known[number], lock);
}

INLINE void counted(struct lock *lock, uint32_t self)
{
    uint64_t ops = load_relaxed(&lock->ops) + 1;
    store_relaxed(&lock->ops, ops);
    if (load_relaxed(&lock->last) != self) {
        store_relaxed(&lock->last, self);
        add_relaxed(&lock->turns, 1);
    }
    if (unlikely(ops == 1))
        know(lock);
}

/* The rank is set before the lock is taken and cleared after it is given: a signal handler in
 * between may see it too early or too late, but never misses it. */
void lock_take(struct lock *lock)
{
    uint32_t free = 0, self = lock_self();
    lock_enter(lock->rank, frame_of(lock));
    if (unlikely(!__atomic_compare_exchange_n(&lock->word, &free, self, false, __ATOMIC_ACQUIRE,
                                              __ATOMIC_RELAXED)))
        take_slow(lock, self);
    counted(lock, self);
}

/* Whether there are enough waiting threads for the owner to be, most likely, not running. */
static bool is_crowded(const struct lock *lock)
{
    const struct contended *place =
        load_relaxed(&lock->word) & WAITED ? contended_at(lock, false) : NULL;
    return place != NULL && load_relaxed(&place->threads) >= CROWD;
}

bool lock_take_uncrowded(struct lock *lock)
{
    if (likely(lock_try(lock)))
        return true;
    if (is_crowded(lock))
        return false;
    lock_take(lock);
    return true;
}

bool lock_take_awake(struct lock *lock)
{
    if (likely(lock_try(lock)))
        return true;
    uint32_t self = lock_self();
    lock_enter(lock->rank, frame_of(lock));
    bool taken = take_spinning(lock, self, SPINS_AWAKE);
    if (taken)
        counted(lock, self);
    else
        lock_leave(lock->rank);
    return taken;
}

bool lock_try(struct lock *lock)
{
    uint32_t free = 0, self = lock_self();
    lock_enter(lock->rank, frame_of(lock));
    bool taken = __atomic_compare_exchange_n(&lock->word, &free, self, false, __ATOMIC_ACQUIRE,
                                             __ATOMIC_RELAXED);
    if (taken)
        counted(lock, self);
    else
        lock_leave(lock->rank);
    return taken;
}

void lock_give(struct lock *lock)
{
    bool waited = __atomic_exchange_n(&lock->word, 0, __ATOMIC_SEQ_CST) & WAITED;
    lock_leave(lock->rank);
    if (unlikely(waited))
        os_wake(&lock->word, 1);
}

static bool turn_inherit(uint32_t *turn, uint32_t owner);

bool turn_wait(uint32_t *turn, uint32_t patience_ms)
{
    for (int i = 0; i < SPINS; i++) {
        if (turn_take(turn))
            return true;
        arch_pause();
    }
    uint32_t same = 0; /* for how long `turn` has had the owner that was seen last, */
    uint32_t last = 0; /* which is this one */
    for (uint32_t waited = 0, step = 1; waited < patience_ms; waited += step, same += step) {
        uint32_t owner = load_relaxed(turn);
        if (owner == lock_self())
            return false;
        same = owner == last ? same : 0;
        last = owner;
        if (owner != 0)
            os_wait(turn, owner, step); /* `turn_give` does not wake it */
        if (turn_take(turn))
            return true;
        step = step < TURN_STEP_MS ? step * 2 : step;
        if (same < PATIENCE_MAX_MS)
            continue;
        if (turn_inherit(turn, owner))
            return true;
        same = 0;
    }
    return turn_inherit(turn, last);
}

/* Takes the turn of a thread that was cancelled or ended while it had it. */
static bool turn_inherit(uint32_t *turn, uint32_t owner)
{
    return owner != 0 && load_relaxed(turn) == owner && owner_is_gone(owner) &&
           __atomic_compare_exchange_n(turn, &owner, lock_self(), false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
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

void lock_forget_waiting(void)
{
    for (unsigned i = 0; any_contended && i < LOCK_CONTENDED_MAX; i++)
        if (contended[i].lock != NULL)
            store_relaxed(&contended[i].threads, 0);
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

void lock_count(const struct lock *lock, struct lock_counts *sum)
{
    sum->ops += load_relaxed(&lock->ops);
    sum->turns += load_relaxed(&lock->turns);
    const struct contended *place = contended_at(lock, false);
    if (place == NULL)
        return;
    uint64_t ns_max = load_relaxed(&place->wait_ns_max);
    uint32_t threads = load_relaxed(&place->threads_max);
    sum->spins += load_relaxed(&place->spins);
    sum->waits += load_relaxed(&place->waits);
    sum->wait_ns += load_relaxed(&place->wait_ns);
    sum->wait_ns_max = ns_max > sum->wait_ns_max ? ns_max : sum->wait_ns_max;
    sum->threads_max = threads > sum->threads_max ? threads : sum->threads_max;
}

void lock_count_reset(struct lock *lock)
{
    if (lock_try(lock)) {             /* no waiting: a dump may take long */
        store_relaxed(&lock->ops, 1); /* it stays known */
        store_relaxed(&lock->turns, 0);
        lock_give(lock);
    }
    struct contended *place = contended_at(lock, false);
    if (place == NULL)
        return;
    store_relaxed(&place->spins, 0);
    store_relaxed(&place->waits, 0);
    store_relaxed(&place->wait_ns, 0);
    store_relaxed(&place->wait_ns_max, 0);
    store_relaxed(&place->threads_max, 0);
}

struct lock *lock_known(unsigned number)
{
    return number < LOCK_KNOWN_MAX ? load_acquire(&known[number]) : NULL;
}
