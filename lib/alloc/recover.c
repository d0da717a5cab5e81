/* SPDX-License-Identifier: MIT */
/*
 * After fork. Nothing is locked before it, so that it can happen at any moment, in a signal handler
 * inside malloc too; instead the child finds out that it is one and repairs.
 *
 * It finds out by a word in a page that the kernel wipes in children, whichever way they were made
 * (fork, clone, the bare system call); where the kernel does not, a fork handler writes the word.
 * It repairs only what is broken: locks held by threads that stayed behind are opened, and if
 * there was one, every list is rebuilt from the states of the spans. The heaps of those threads
 * go home in any case.
 *
 * The thread that forked knows its own heap; a thread that it makes in the child does not know
 * which of the heaps that is. If such a thread comes by first, as the other one may go on for long
 * without a slow call, it repairs the rest and leaves the heaps to the one that forked.
 *
 * After a jump out of a signal handler that interrupted the allocator, the same thread repairs
 * what its call left, while others go on. It has the locks that the call had, and what each of
 * them protects can be told from the states of the spans or is never half-changed.
 */
#include "lib/alloc/alloc.h"

#include "base/os.h"
#include "lib/alloc/held.h"
#include "lib/window/window.h"

static uint32_t unforked = ALLOC_SETTLED;
uint32_t *alloc_state = &unforked;
static const void *repairer; /* something of the thread's that does not change with its id */

static void repair(struct lock *lock);
static bool memory_copied(void);

bool alloc_fork_watch(void)
{
    lock_repair = repair;
    lock_memory_copied = memory_copied;
    uint32_t *page = os_map(os_page_size());
    if (page == NULL)
        return false;
    bool wiped = os_wipe_on_fork(page, os_page_size());
    *page = ALLOC_SETTLED;
    store_release(&alloc_state, page);
    return wiped;
}

/* What a lock protects, mended by the thread that took it over from one that does not exist: no
 * more than that, since other threads may hold the locks of other lists. */
static void repair(struct lock *lock)
{
    switch (lock->rank) {
    case LOCK_CENTRAL:
        central_repair(false);
        owners_repair(false);
        break;
    case LOCK_PAGES:
        pages_repair(false);
        break;
    case LOCK_ARENA:
        arena_recover();
        break;
    default:
        break;
    }
}

static bool memory_copied(void)
{
    return alloc_forked();
}

void alloc_fork_child(void)
{
    store_relaxed(alloc_state, ALLOC_FORKED);
}

static bool locks_break(uint32_t parent_id)
{
    bool broken = lock_break(&arena_lock, parent_id);
    if (broken)
        arena_recover();
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        broken |= lock_break(&pages_of[pool].lock, parent_id);
    broken |= central_break(parent_id);
    broken |= owners_break(parent_id);
    broken |= lock_break(&heap_lock, parent_id);
    lock_break(&outside_lock, parent_id); /* half-changed, it has less memory, no worse */
    lock_break(&shifted_lock, parent_id); /* never half-changed */
    if (lock_break(&lent_lock, parent_id))
        lent_give_up();
    return broken;
}

bool alloc_repair_begin(void)
{
    enum { LOOK_MS = 10 }; /* between two looks at whether the repair is over */
    for (;;) {             /* ends: the thread that repairs waits for no other */
        uint32_t state = ALLOC_FORKED;
        if (__atomic_compare_exchange_n(alloc_state, &state, ALLOC_REPAIRING, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            store_relaxed(&repairer, &lock_held);
            return true;
        }
        if (state != ALLOC_REPAIRING)
            return false;
        os_wait(alloc_state, ALLOC_REPAIRING, LOOK_MS);
    }
}

void alloc_repair_end(bool first)
{
    store_relaxed(&repairer, NULL);
    store_release(alloc_state, first ? ALLOC_SETTLED : ALLOC_UNCLAIMED);
}

/* Threads that stayed behind had blocks of owners. `everything`: no heap but this thread's has a
 * thread. */
static void fronts_of_lost(bool everything)
{
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        if (heap != heap_self && (everything || heap->inherited) && heap->fronts != NULL)
            fronts_salvage(heap);
}

void alloc_recover(uint32_t parent_id, bool first)
{
    uint32_t before;
    os_tid_forked();
    lock_forget_self(&before);
    lock_forget_waiting();
    bool broken = locks_break(parent_id);
    if (broken || pages_unsettled()) {
        pages_recover();
        central_recover();
        owners_recover();
        held_recover();
    }
    if (first)
        fronts_of_lost(true);
    tail_doubt();
    heap_recover(first);
}

void alloc_claim(void)
{
    uint32_t before;
    lock_forget_self(&before);
    fronts_of_lost(false);
    heap_claim();
    store_release(&heap_now, &heap_empty); /* it may have missed a change of the mode */
}

/* From the innermost lock on: a thread that waits for one may have one of those before it. */
void alloc_abandoned(void)
{
    tail_doubt();
    if (load_relaxed(&repairer) == &lock_held) { /* once more, from the beginning */
        store_relaxed(&repairer, NULL);
        store_release(alloc_state, ALLOC_FORKED);
    }
    if (lock_is_own(&outside_lock))
        lock_give(&outside_lock);
    if (lock_is_own(&shifted_lock))
        lock_give(&shifted_lock);
    if (lock_is_own(&lent_lock)) {
        lent_give_up();
        lock_give(&lent_lock);
    }
    if (lock_is_own(&arena_lock)) {
        arena_recover();
        lock_give(&arena_lock);
    }
    pages_repair(true);
    pages_returning_stop(false);
    central_repair(true);
    owners_repair(true);
    heap_abandoned();
}
