/* SPDX-License-Identifier: MIT */
/*
 * The lock: one thread inside at a time, sleepers are woken, the ranks that a thread holds are
 * known to it, a lock whose owner is gone can be had again, and no other one is taken away.
 */
#define _GNU_SOURCE
#include "base/lock.h"

#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

#include "base/os.h"

enum { THREADS = 8, WAITED_BIT = 1u << 31 };

static struct lock lock = {.rank = LOCK_PAGES};
static bool locking = true;
static unsigned inside, overlaps, rounds;
static uint64_t sum;

/* Work that shows when two are at it: an increment in two steps with a pause now and then. */
static void *worker(void *seed)
{
    uint64_t random = (uintptr_t)seed + 1;
    for (unsigned i = 0; i < rounds; i++) {
        if (locking)
            lock_take(&lock);
        if (__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED) != 0)
            __atomic_fetch_add(&overlaps, 1, __ATOMIC_RELAXED);
        if (locking)
            sum++; /* plain: thread sanitizer looks on */
        if (unit_random(&random) % 256 == 0)
            sched_yield();
        __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
        if (locking)
            lock_give(&lock);
    }
    return NULL;
}

static void together(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
}

static void one_thread_at_a_time(void)
{
    rounds = unit_times(100000);
    together();
    assert(sum == (uint64_t)rounds * THREADS && overlaps == 0 && lock.word == 0);
}

static void without_the_lock_threads_do_meet(void)
{
    locking = false;
    for (int i = 0; i < 100 && overlaps == 0; i++)
        together();
    assert(overlaps > 0);
    locking = true;
}

static void held_ranks_are_known(void)
{
    struct lock low = {.rank = LOCK_REGISTRY}, high = {.rank = LOCK_ARENA};
    assert(lock_held == 0);
    lock_enter(LOCK_INSIDE, 0);
    lock_take(&low);
    assert((lock_held & LOCK_RANKS) == (1u << LOCK_INSIDE | 1u << LOCK_REGISTRY));
    lock_take(&high);
    assert((lock_held & LOCK_RANKS) ==
           (1u << LOCK_INSIDE | 1u << LOCK_REGISTRY | 1u << LOCK_ARENA));
    assert(low.word == lock_self() && high.word == (uint32_t)os_tid());
    lock_give(&high);
    assert((lock_held & LOCK_RANKS) == (1u << LOCK_INSIDE | 1u << LOCK_REGISTRY) && high.word == 0);
    lock_give(&low);
    lock_leave(LOCK_INSIDE);
    assert(lock_held == 0);
}

static void *hold_for_ever(void *what)
{
    lock_take(what);
    return NULL;
}

/* A thread that ended inside: only in a child of fork, but an ended thread looks the same. */
static void an_owner_that_is_gone_is_noticed(void)
{
    struct lock left = {.rank = LOCK_ARENA};
    pthread_t thread;
    assert(pthread_create(&thread, NULL, hold_for_ever, &left) == 0);
    pthread_join(thread, NULL);
    assert(left.word != 0 && left.word != lock_self());
    lock_take(&left);
    assert((left.word & ~WAITED_BIT) == lock_self());
    lock_give(&left);
    assert(left.word == 0);
}

static uint32_t turn;

static void *keep_the_turn(void *unused)
{
    assert(turn_take(&turn));
    return unused;
}

/* Also where the caller would not wait for as long as owners are trusted. */
static void a_turn_of_a_thread_that_is_gone_is_had(void)
{
    static const uint32_t patience_ms[] = {4000, 100};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert(pthread_create(&thread, NULL, keep_the_turn, NULL) == 0);
        assert(pthread_join(thread, NULL) == 0);
        assert(!turn_take(&turn));
        assert(turn_wait(&turn, patience_ms[i]));
        assert(turn == lock_self());
        assert(!turn_wait(&turn, 100)); /* it has it */
        turn_give(&turn);
    }
}

static void ignore(int number)
{
    (void)number;
}

/* Also by a waiter whose every sleep ends early, as in a profile of all time. */
static void an_owner_that_is_gone_is_noticed_among_signals(void)
{
    struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    an_owner_that_is_gone_is_noticed();
    setitimer(ITIMER_REAL, &never, NULL);
}

#ifndef __SANITIZE_THREAD__
enum { HOLD_US = 3000000 }; /* more than twice what a waiter gives an owner that is gone */
static struct lock held = {.rank = LOCK_ARENA};
static bool holding, taken_away;

static int take_while_held(void *unused)
{
    (void)unused;
    lock_take(&held);
    taken_away = load_relaxed(&holding);
    lock_give(&held);
    return 0;
}

/* Neither gives nor runs for a while, as a thread of a stopped process. */
static void *hold_long(void *unused)
{
    (void)unused;
    lock_take(&held);
    store_relaxed(&holding, true);
    usleep(HOLD_US);
    store_relaxed(&holding, false);
    lock_give(&held);
    return NULL;
}

/* To a child in our memory (vfork) all of our threads look as if they were gone. */
static void a_vfork_child_waits_for_live_owners(void)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    pthread_t thread;
    assert(pthread_create(&thread, NULL, hold_long, NULL) == 0);
    while (!load_relaxed(&holding))
        usleep(1000);
    pid_t child =
        clone(take_while_held, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    assert(child > 0 && waitpid(child, NULL, 0) == child);
    pthread_join(thread, NULL);
    assert(!taken_away && held.word == 0);
}

static int hold_as_a_process(void *unused)
{
    (void)unused;
    store_relaxed(&held.word, (uint32_t)getpid()); /* as with thread-local memory of its own */
    store_relaxed(&holding, true);
    usleep(HOLD_US);
    store_relaxed(&holding, false);
    store_release(&held.word, 0);
    return 0;
}

/* And the other way round: no thread of ours has the id of such a child. */
static void children_in_our_memory_keep_their_locks(void)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    pid_t child = clone(hold_as_a_process, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    assert(child > 0);
    while (!load_relaxed(&holding))
        usleep(1000);
    take_while_held(NULL);
    assert(waitpid(child, NULL, 0) == child && !taken_away);
}
#endif

static void *take_and_give(void *what)
{
    lock_take(what);
    lock_give(what);
    return NULL;
}

static void sleepers_are_woken(void)
{
    struct lock shared = {.rank = LOCK_ARENA};
    pthread_t threads[THREADS];
    lock_take(&shared);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, take_and_give, &shared) == 0);
    while (!(load_relaxed(&shared.word) & WAITED_BIT))
        usleep(1000);
    lock_give(&shared);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert(shared.word == 0);
}

static void breaking_frees_what_others_left(void)
{
    struct lock broken = {.rank = LOCK_ARENA};
    uint32_t self = lock_self(), other = self + 1, parent = 0;
    assert(!lock_break(&broken, self) && broken.word == 0);
    broken.word = other;
    assert(lock_break(&broken, self) && broken.word == 0);
    broken.word = other | WAITED_BIT;
    assert(lock_break(&broken, self) && broken.word == 0);
    /* What this thread had before the fork is its own still, under its new number. */
    broken.word = other | WAITED_BIT;
    assert(!lock_break(&broken, other) && broken.word == self);
    lock_forget_self(&parent);
    assert(parent == self && lock_self() == self);
}

static void child_of_a_thread_inside(void)
{
    uint32_t parent = 0;
    lock_forget_self(&parent);
    assert(parent == (uint32_t)getppid() && lock_self() == (uint32_t)getpid());
    assert(!lock_break(&lock, parent) && lock.word == lock_self());
    assert((lock_held & LOCK_RANKS) == 1u << LOCK_PAGES);
    lock_give(&lock);
    lock_take(&lock);
}

static void a_child_keeps_its_own_lock(void)
{
    char text[100];
    lock_take(&lock);
    assert(unit_child(child_of_a_thread_inside, text, sizeof text) == 0);
    lock_give(&lock);
}

int main(void)
{
    os_memory_claim();
    one_thread_at_a_time();
    without_the_lock_threads_do_meet();
    held_ranks_are_known();
    an_owner_that_is_gone_is_noticed();
    an_owner_that_is_gone_is_noticed_among_signals();
    a_turn_of_a_thread_that_is_gone_is_had();
#ifndef __SANITIZE_THREAD__ /* which knows no processes that share memory */
    if (!unit_emulated()) {
        a_vfork_child_waits_for_live_owners();
        children_in_our_memory_keep_their_locks();
    }
#endif
    sleepers_are_woken();
    breaking_frees_what_others_left();
    a_child_keeps_its_own_lock();
    return 0;
}
