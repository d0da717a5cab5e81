/* SPDX-License-Identifier: MIT */
/*
 * Fork at any moment: other threads are in the middle of everything, holding locks, and the
 * child can use the whole allocator at once, never gets a block that its own thread holds, and
 * finds the same spans.
 */
#include "tests/unit/unit.h"

#include "base/lock.h"
#include "base/os.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { THREADS = 3, HELD = 300, MINE = 200 };

static uint32_t stop;
static struct heap *heap;
static void *mine[MINE]; /* what the forking thread holds */
static unsigned broken;  /* forks while a lock was held; in shared memory */

/* One step of a thread that uses everything. */
static void step(struct heap *of, void **held, uint64_t *random)
{
    bool zero;
    void **slot = &held[unit_random(random) % HELD];
    if (*slot == NULL) {
        unsigned what = (unsigned)(unit_random(random) % 64);
        if (what == 0) {
            *slot = large_take(of->pool, 1 + unit_random(random) % 200000, GRANULE, &zero);
            store_relaxed(live_at(*slot), live_sign(*slot));
        } else if (what == 1) {
            *slot = central_take_one(of->pool, CENTRAL_WATCHED + 7);
            store_relaxed(live_at(*slot), live_sign_watched(*slot));
            struct caller caller = {1 + (unit_random(random) % 64), 0, 0, FAMILY_MALLOC};
            track_begin(central_record(span_of(*slot), *slot), &caller, 7, 112, 100, 0,
                        sampler_number());
        } else {
            *slot = unit_malloc(of, 1 + (unsigned)(unit_random(random) % CLASS_LAST));
        }
        assert(*slot != NULL);
        return;
    }
    unsigned mark = mark_of(*slot);
    struct span *span = span_of(*slot);
    if (mark == MARK_LARGE) {
        store_relaxed(live_at(*slot), 0);
        large_give(span);
    } else if (mark == MARK_WATCHED) {
        store_relaxed(live_at(*slot), 0);
        track_end(central_record(span, *slot), NULL, 112, 100, false);
        central_give(slot, 1);
    } else {
        unit_free(of, *slot);
    }
    *slot = NULL;
}

static void *churn(void *argument)
{
    static void *helds[THREADS][HELD];
    uintptr_t self = (uintptr_t)argument;
    uint64_t random = self + 1;
    while (!load_acquire(&stop)) {
        struct heap *own = unit_heap((unsigned)self, self % 2);
        for (int i = 0; i < 3000 && !load_acquire(&stop); i++)
            step(own, helds[self], &random);
        if (unit_random(&random) % 4 == 0)
            alloc_purge(SIZE_MAX);
        heap_end(own);
    }
    return NULL;
}

static void hold_mine(void)
{
    for (unsigned i = 0; i < MINE; i++) {
        unsigned class = 1 + i % CLASS_LAST;
        mine[i] = unit_malloc(heap, class);
        assert(mine[i] != NULL);
        unit_fill(mine[i], class_size(class), i);
    }
}

static unsigned changed_of_mine(void)
{
    unsigned changed = 0;
    for (unsigned i = 0; i < MINE; i++)
        changed += !unit_filled(mine[i], class_size(1 + i % CLASS_LAST), i);
    return changed;
}

static bool any_lock_is_held(void)
{
    bool held = arena_lock.word != 0 || heap_lock.word != 0;
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        held |= pages_of[pool].lock.word != 0;
        for (unsigned i = 0; central_peek(pool, 0) != NULL && i < CENTRAL_COUNT; i++)
            held |= central_peek(pool, i)->lock.word != 0;
    }
    return held;
}

/* The child: repairs, checks that all is consistent, and uses everything. 0, or 2 if a lock
 * had to be broken. */
static int child(uint64_t random)
{
    enum { MANY = 1500 };
    static void *held[HELD];
    if (!unit_emulated())
        assert(alloc_forked());
    alloc_fork_child(); /* what a fork handler does where the kernel does not */
    assert(alloc_forked());
    bool was_held = any_lock_is_held();
    uint32_t parent_id = lock_self();
    pages_threads += random % 2; /* as if a thread were between its mark and the count */
    assert(alloc_repair_begin());
    alloc_recover(parent_id, true);
    track_recover(parent_id, true);
    alloc_repair_end(true);
    assert(!alloc_forked() && !any_lock_is_held() && lock_held == 0);
    assert(lock_self() == (uint32_t)os_tid() && heap_self == heap && heap->tid == lock_self());
    for (struct heap *other = heap_first(); other != NULL; other = other->all)
        assert(other->alive == (other == heap));
    for (unsigned i = 0; i < MANY; i++)
        step(heap, held, &random);
    assert(changed_of_mine() == 0);
    for (unsigned i = 0; i < MINE; i++)
        unit_free(heap, mine[i]);
    heap_flush(heap);
    alloc_purge(SIZE_MAX);
    heap_interrupt(NULL);
    heap_end(heap);
    heap = unit_heap(1, 0);
    hold_mine();
    assert(changed_of_mine() == 0);
    struct account account;
    account_take(&account);
    assert(account.heaps == 1);
    return was_held ? 2 : 0;
}

static unsigned overlapping_units(void)
{
    size_t units = window.granules * GRANULE / UNIT;
    uint8_t *owned = calloc(1, units + 1);
    unsigned faults = 0;
    for (uint32_t id = 1; id < span_count(); id++) {
        const struct span *span = span_at(id);
        for (uint32_t i = 0; span->state != SPAN_NONE && i < span->units; i++)
            faults += owned[span->first + i]++ != 0;
    }
    free(owned);
    return faults;
}

static void children_can_use_everything(unsigned forks)
{
    pthread_t threads[THREADS];
    uint64_t random = 17;
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, churn, (void *)i) == 0);
    for (unsigned i = 0; i < forks; i++) {
        usleep((unsigned)(unit_random(&random) % 300));
        pid_t pid = fork();
        assert(pid >= 0);
        if (pid == 0) {
            alarm(60);
            int verdict = child(random);
            _exit(overlapping_units() == 0 ? verdict : 1);
        }
        int status;
        assert(waitpid(pid, &status, 0) == pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) == 1) {
            fprintf(stderr, "child %u ended with status %#x\n", i, (unsigned)status);
            exit(1);
        }
        broken += WEXITSTATUS(status) == 2;
    }
    store_release(&stop, 1);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A lock of another thread stays taken without recovery: what the child would hang on. */
static void *hold_a_lock(void *until)
{
    lock_take(&pages_of[6].lock);
    store_release((uint32_t *)until, 1);
    while (load_acquire((uint32_t *)until) == 1)
        usleep(1000);
    lock_give(&pages_of[6].lock);
    return NULL;
}

static void a_held_lock_is_left_taken_and_then_opened(void)
{
    pthread_t thread;
    uint32_t until = 0;
    assert(pthread_create(&thread, NULL, hold_a_lock, &until) == 0);
    while (load_acquire(&until) == 0)
        usleep(1000);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        bool taken = pages_of[6].lock.word != 0;
        alloc_fork_child();
        alloc_recover(lock_self(), true);
        struct span *span = pages_take(6, 10, 1);
        _exit(taken && pages_of[6].lock.word == 0 && span != NULL ? 0 : 1);
    }
    int status;
    assert(waitpid(pid, &status, 0) == pid && status == 0);
    store_release(&until, 2);
    pthread_join(thread, NULL);
}

static void *return_runs(void *enough)
{
    while (!load_acquire((uint32_t *)enough)) {
        struct span *span = pages_take(5, 64, 1);
        memset(span_start(span), 1, 64 * UNIT);
        span->zero = false;
        store_release(&span->state, SPAN_LARGE);
        pages_give(span);
        pages_return(5, UINT64_MAX);
    }
    return NULL;
}

/* A run on its way to the kernel is in no list and under no lock. */
static void runs_being_returned_are_not_lost(void)
{
    pthread_t thread;
    uint32_t enough = 0, met = 0;
    assert(pthread_create(&thread, NULL, return_runs, &enough) == 0);
    for (unsigned i = 0; i < unit_times(300); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            bool busy = pages_unsettled();
            alloc_fork_child();
            alloc_recover(lock_self(), true);
            for (uint32_t id = 1; id < span_count(); id++)
                if (span_at(id)->state == SPAN_BUSY)
                    _exit(1);
            _exit(busy ? 2 : 0);
        }
        int status;
        assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        assert(WEXITSTATUS(status) != 1);
        met += WEXITSTATUS(status) == 2;
    }
    store_release(&enough, 1);
    pthread_join(thread, NULL);
    assert(met > 0 || unit_times(300) < 300);
}

int main(void)
{
    unit_start();
    assert(!alloc_forked());
    assert(alloc_fork_watch() || unit_emulated());
    assert(!alloc_forked());
    heap = unit_heap(0, 0);
    hold_mine();
    a_held_lock_is_left_taken_and_then_opened();
    runs_being_returned_are_not_lost();
    children_can_use_everything(unit_times(200));
    assert(changed_of_mine() == 0 && overlapping_units() == 0 && unit_faults() == 0);
    assert(broken > 0 || unit_times(200) < 200); /* the forks were bad ones */
    return 0;
}
