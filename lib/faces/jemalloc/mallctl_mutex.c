/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl about mutexes: those of memoir's own locks (base/lock.h) that do the work of
 * jemalloc's. As of now, whatever the epoch. In the order of the words in mallctl.def.
 *
 *      prof, prof_thds_data, prof_dump, prof_recent_alloc     sites, threads, dumps, recent blocks
 *      extents_dirty, extents_retained, tcache_list           pages, window, heaps
 *      large                                                  all of an arena that was created
 *      bins.<j>.mutex                                         the centres of the class
 */
#include <errno.h>

#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/mallctl.h"

static const uint8_t global_ranks[] = {
    [3] = LOCK_SITES, [4] = LOCK_THREADS, [5] = LOCK_DUMP, [6] = LOCK_RECENT};
enum { ARENA_LARGE = 0 };
static const uint8_t arena_ranks[] = {[2] = LOCK_PAGES, [4] = LOCK_ARENA, [9] = LOCK_REGISTRY};

static void count_rank(unsigned rank, struct lock_counts *sum);
static void count_arena(size_t number, size_t word, struct lock_counts *sum);
static void count_bin(unsigned class, struct lock_counts *sum);

int serve_mutex(const struct request *request, const struct node *node)
{
    struct lock_counts sum = {0};
    size_t first = request->numbers[0], second = request->numbers[1];
    int refused = request_read_only(request);
    if (node->number & MUTEX_GLOBAL) {
        if (first < COUNT_OF(global_ranks))
            count_rank(global_ranks[first], &sum);
    } else if (!figures_has(first) || (node->number & MUTEX_BIN && second >= CLASS_LAST)) {
        return ENOENT;
    } else if (node->number & MUTEX_ARENA) {
        count_arena(first, second, &sum);
    } else if (first == 0 || first == MALLCTL_ALL || first == arenas_count()) {
        count_bin((unsigned)second + 1, &sum);
    }
    if (refused)
        return refused;
    unsigned what = node->number & MUTEX_WHAT;
    if (what == MUTEX_THREADS_MAX)
        return request_give(request, &sum.threads_max, sizeof sum.threads_max);
    const uint64_t values[] = {
        [MUTEX_OPS] = sum.ops,         [MUTEX_WAITS] = sum.waits,
        [MUTEX_SPINS] = sum.spins,     [MUTEX_TURNS] = sum.turns,
        [MUTEX_WAIT_NS] = sum.wait_ns, [MUTEX_WAIT_NS_MAX] = sum.wait_ns_max};
    return request_give(request, &values[what], sizeof values[what]);
}

/* None for LOCK_INSIDE: it is not a lock. */
static void count_rank(unsigned rank, struct lock_counts *sum)
{
    const struct lock *lock;
    for (unsigned i = 0; rank != LOCK_INSIDE && (lock = lock_known(i)) != NULL; i++)
        if (lock->rank == rank)
            lock_count(lock, sum);
}

static void count_arena(size_t number, size_t word, struct lock_counts *sum)
{
    bool all = number == MALLCTL_ALL || number == arenas_count();
    if ((all || number == 0) && word < COUNT_OF(arena_ranks))
        count_rank(arena_ranks[word], sum);
    for (size_t i = 1; word == ARENA_LARGE && i < arenas_count(); i++) {
        const struct arena *arena = all || i == number ? arena_at(i) : NULL;
        const struct owner *owner = arena == NULL ? NULL : load_acquire(&arena->owner);
        if (owner != NULL)
            lock_count(&owner->lock, sum);
    }
}

static void count_bin(unsigned class, struct lock_counts *sum)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        for (unsigned list = 1; list < CENTRAL_COUNT; list++) {
            const struct central *central = central_peek(pool, list);
            unsigned of = list > CENTRAL_WATCHED ? list - CENTRAL_WATCHED : mark_class(list);
            bool is_class = list != MARK_LARGE && list != MARK_WATCHED && of == class;
            if (central != NULL && is_class)
                lock_count(&central->lock, sum);
        }
}

int serve_mutex_reset(const struct request *request, const struct node *node)
{
    (void)request; /* jemalloc looks at none of it, either */
    (void)node;
    struct lock *lock;
    if (!cold_begin(NULL))
        return EAGAIN;
    for (unsigned i = 0; (lock = lock_known(i)) != NULL; i++)
        lock_count_reset(lock);
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        for (unsigned list = 1; list < CENTRAL_COUNT; list++) {
            struct central *central = (struct central *)central_peek(pool, list);
            if (central != NULL && load_relaxed(&central->lock.ops) != 0)
                lock_count_reset(&central->lock);
        }
    for (struct owner *owner = owner_first(); owner != NULL; owner = owner->all)
        lock_count_reset(&owner->lock);
    cold_end();
    return 0;
}
