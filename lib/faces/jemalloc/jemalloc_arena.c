/* SPDX-License-Identifier: MIT */
/* See jemalloc_arena.h. An arena stays in the table for ever; one that was destroyed is used again
 * with its number. */
#include "lib/faces/jemalloc/jemalloc_arena.h"

#include <stddef.h>
#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"

/* In the tag of an owner: it is an arena's, of this number. */
#define TAG_ARENA (UINT64_C(1) << 62)

#define GROW_LIMIT ((size_t)7 << 60) /* the largest of jemalloc's sizes: none */
static struct arena first = {
    .state = ARENA_LIVE, .automatic = true, .hooks = &extents_default, .grow_limit = GROW_LIMIT};
BULK struct arena *arenas_table[ARENAS_MAX];
uint64_t arenas_epoch;
static uint32_t made = 1; /* numbers up to the last one that was handed out */

/* Exported by jemalloc's library for its own tests, which link with it. */
extern void (*je_test_hooks_arena_new_hook)(void), (*je_test_hooks_libc_hook)(void);
EXPORT void (*je_test_hooks_arena_new_hook)(void);
EXPORT void (*je_test_hooks_libc_hook)(void);

static bool give_owner(struct arena *arena);
static struct arena *arena_by_size(size_t size);

void arenas_begin(void)
{
    first.born_ms = os_now_ms();
}

unsigned arena_oversize(unsigned *first_size)
{
    uint64_t threshold = jemalloc_values[JEMALLOC_oversize_threshold].number;
    uint64_t number = jemalloc_values[JEMALLOC_narenas].number;
    if (threshold == 0 || threshold > GROW_LIMIT || number == 0 || number >= ARENAS_MAX)
        return 0;
    *first_size = large_size_index(threshold);
    return (unsigned)number;
}

size_t arena_threshold(const struct arena *arena)
{
    return load_acquire(&arena->has_oversize)
               ? load_relaxed(&arena->oversize)
               : (size_t)jemalloc_values[JEMALLOC_oversize_threshold].number;
}

/* Those of the option narenas exist from the start, and the one behind them. */
unsigned arenas_count(void)
{
    unsigned first_size;
    uint64_t wanted = jemalloc_values[JEMALLOC_narenas].number;
    wanted += arena_oversize(&first_size) != 0;
    uint32_t now = load_acquire(&made);
    if (likely(wanted <= now))
        return now;
    return wanted < ARENAS_MAX ? (unsigned)wanted : ARENAS_MAX;
}

/* As it is before anything was asked of it. */
static void arena_begin(struct arena *arena, bool automatic)
{
    memset(arena, 0, offsetof(struct arena, figures));
    arena->automatic = automatic;
    arena->hooks = &extents_default;
    arena->grow_limit = GROW_LIMIT;
    arena->dirty_ms = config.return_delay_ms == config_never ? -1 : (ssize_t)config.return_delay_ms;
    arena->born_ms = os_now_ms();
    arena->lender.freed = extents_freed;
}

/* Puts a new arena at this number. False if another thread was first. */
static bool table_put(struct arena *arena, unsigned number)
{
    struct arena *none = NULL;
    arena->number = number;
    return __atomic_compare_exchange_n(&arenas_table[number], &none, arena, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

struct arena *arena_at(size_t number)
{
    if (number == 0)
        return &first;
    if (number >= arenas_count())
        return NULL;
    struct arena *arena = load_acquire(&arenas_table[number]);
    if (arena == NULL) { /* one of the option narenas, for the first time */
        struct arena *mine = meta_take(sizeof *mine);
        if (mine == NULL)
            return NULL;
        arena_begin(mine, true);
        mine->state = ARENA_LIVE;
        if (!table_put(mine, (unsigned)number))
            meta_give(mine, sizeof *mine);
        arena = load_acquire(&arenas_table[number]);
    }
    return load_acquire(&arena->state) == ARENA_LIVE ? arena : NULL;
}

struct arena *arena_used(size_t number)
{
    struct arena *arena = arena_at(number);
    if (arena == NULL || arena == &first || load_acquire(&arena->owner) != NULL)
        return arena;
    return give_owner(arena) ? arena : NULL;
}

static bool give_owner(struct arena *arena)
{
    struct owner *none = NULL, *owner = cold_owned_new(false);
    if (owner == NULL)
        return false;
    owner->tag = TAG_ARENA | arena->number;
    arena->born_epoch = load_relaxed(&arenas_epoch);
    if (!__atomic_compare_exchange_n(&arena->owner, &none, owner, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
        cold_owned_delete(owner);
    return true;
}

/* An arena of which one was destroyed; NULL: there is none. */
static struct arena *arena_again(void)
{
    unsigned now = arenas_count();
    for (unsigned number = 1; number < now; number++) {
        struct arena *arena = load_acquire(&arenas_table[number]);
        uint8_t ended = ARENA_DESTROYED;
        if (arena != NULL && __atomic_compare_exchange_n(&arena->state, &ended, ARENA_BEGINS, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            arena_begin(arena, false);
            return arena;
        }
    }
    return NULL;
}

/* One with a number that there was not yet. */
static struct arena *arena_more(void)
{
    struct arena *arena = meta_take(sizeof *arena);
    if (arena == NULL)
        return NULL;
    arena_begin(arena, false);
    for (;;) { /* ends: each number is handed out once */
        uint32_t now = arenas_count(), before = load_acquire(&made);
        if (now == ARENAS_MAX) {
            meta_give(arena, sizeof *arena);
            return NULL;
        }
        bool put = table_put(arena, now);
        __atomic_compare_exchange_n(&made, &before, now + 1, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
        if (put)
            return arena;
    }
}

struct arena *arena_create(struct extent_hooks *hooks)
{
    struct arena *arena = arena_again();
    if (arena == NULL && (arena = arena_more()) == NULL)
        return NULL;
    if (!give_owner(arena)) {
        store_release(&arena->state, ARENA_DESTROYED);
        return NULL;
    }
    arena_set_hooks(arena, hooks == NULL ? &extents_default : hooks);
    store_release(&arena->state, ARENA_LIVE);
    if (je_test_hooks_arena_new_hook != NULL)
        je_test_hooks_arena_new_hook();
    return arena;
}

void arena_set_hooks(struct arena *arena, struct extent_hooks *hooks)
{
    store_release(&arena->hooks, hooks);
    store_release(&arena->owner->lend, hooks == &extents_default ? NULL : extents_take);
}

struct arena *arena_of_owner(const struct owner *owner)
{
    if (owner == NULL || !(owner->tag & TAG_ARENA))
        return &first;
    return arenas_table[(uint32_t)owner->tag];
}

struct arena *arena_of(const void *p)
{
    if (p == NULL || !cold_is_block(p))
        return NULL;
    struct lender *lender = lent_by(p);
    if (lender != NULL)
        return (struct arena *)lender;
    bool guarded = guarding_owns(p);
    const struct span *span = guarded ? NULL : span_find(p);
    struct arena *arena = arena_of_owner(guarded        ? guarding_owner(p)
                                         : span == NULL ? NULL
                                                        : owner_of(span));
    return arena == &first ? arena_by_size(cold_usable(p)) : arena;
}

/* Of a block that has no owner. */
static struct arena *arena_by_size(size_t size)
{
    unsigned first_size, oversize = arena_oversize(&first_size);
    bool large = oversize != 0 && size > BLOCK_MAX && large_size_index(size) >= first_size;
    struct arena *arena = large ? arena_at(oversize) : NULL;
    return arena == NULL ? &first : arena;
}

struct arena *arena_of_thread(void)
{
    return arena_of_owner(heap_self == NULL ? NULL : heap_self->default_owner);
}

static void reset_lent(struct arena *arena)
{
    struct lent_sums ended = lent_reset(&arena->lender);
    elsewhere_ended(ended.blocks, ended.bytes);
}

void arena_reset(struct arena *arena, const struct caller *caller)
{
    if (arena->owner == NULL)
        return;
    reset_lent(arena);
    cold_owned_reset(arena->owner, caller);
}

void arena_destroy(struct arena *arena, const struct caller *caller)
{
    reset_lent(arena);
    extents_end(arena);
    cold_owned_destroy(arena->owner, caller);
    store_release(&arena->owner, NULL);
    store_release(&arena->state, ARENA_DESTROYED);
}
