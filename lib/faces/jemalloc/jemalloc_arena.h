/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's arenas. Number 0 is all that malloc hands out by itself. Those that the program
 * creates, and 1 and upwards if the option narenas says that there are more, are owners of blocks
 * (lib/alloc/owner.h): what they have ends as a whole, and they are counted one by one. An arena
 * with extent hooks takes its memory from them (jemalloc_extents.c). Behind those of narenas stands
 * the one that very large blocks of number 0 are told to be in and counted for
 * (oversize_threshold): a view, since their memory is one with all other memory.
 */
#ifndef JEMALLOC_JEMALLOC_ARENA_H
#define JEMALLOC_JEMALLOC_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/alloc/alloc.h"

enum { ARENAS_MAX = 4095, ARENA_NAME_SIZE = 32 }; /* jemalloc's limits */

/* As in jemalloc.h. The bool results are true for "no": refused, or not done. */
struct extent_hooks {
    void *(*alloc)(struct extent_hooks *hooks, void *at, size_t size, size_t align, bool *zero,
                   bool *commit, unsigned arena);
    bool (*dalloc)(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                   unsigned arena);
    void (*destroy)(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                    unsigned arena);
    bool (*commit)(struct extent_hooks *hooks, void *at, size_t size, size_t offset, size_t length,
                   unsigned arena);
    bool (*decommit)(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                     size_t length, unsigned arena);
    bool (*purge_lazy)(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                       size_t length, unsigned arena);
    bool (*purge_forced)(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                         size_t length, unsigned arena);
    bool (*split)(struct extent_hooks *hooks, void *at, size_t size, size_t size_first,
                  size_t size_second, bool committed, unsigned arena);
    bool (*merge)(struct extent_hooks *hooks, void *first, size_t size_first, void *second,
                  size_t size_second, bool committed, unsigned arena);
};

struct figures; /* mallctl.h */

struct arena {
    struct lender lender; /* first: `freed` finds the arena by it */
    struct owner *owner;  /* NULL: of an arena that was not used yet; or it is number 0 */
    struct extent_hooks *hooks;
    bool automatic; /* it can't be reset or destroyed */
    uint8_t dss;
    char name[ARENA_NAME_SIZE];
    ssize_t dirty_ms, muzzy_ms;
    size_t grow_limit, oversize;
    bool has_oversize; /* the program has set it; else the option oversize_threshold counts */
    uint64_t born_ms, born_epoch;
    uint64_t purges, purged_pages; /* calls that returned memory, and how much */
    /* These stay when it is destroyed: */
    struct figures *figures; /* of the last epoch; NULL: there are none yet */
    unsigned number;
    uint8_t state;
};

enum { ARENA_BEGINS, ARENA_LIVE, ARENA_DESTROYED };

extern struct extent_hooks extents_default;

/* The allocator is up. */
void arenas_begin(void);

/* How often arenas were counted for stats.*: written by mallctl_stats.c. */
extern HIDDEN uint64_t arenas_epoch;

/* How many numbers there are. */
unsigned arenas_count(void);
/* The number of the arena of very large blocks, and the index of its first size (large.h); 0: there
 * is none. */
unsigned arena_oversize(unsigned *first_size);
/* From which size on extents are very large; 0: none is. */
size_t arena_threshold(const struct arena *arena);
/* The arena of this number; NULL: there is none. */
struct arena *arena_at(size_t number);
/* The same with an owner, if it is not number 0. NULL, too, when memory is out. */
struct arena *arena_used(size_t number);
/* A new one. NULL when there are too many, or memory is out. */
struct arena *arena_create(struct extent_hooks *hooks);
/* Which arena a block belongs to; NULL: it is no block. */
struct arena *arena_of(const void *p);
struct arena *arena_of_owner(const struct owner *owner);
/* The calling thread's. */
struct arena *arena_of_thread(void);
/* The owner of an arena that has been used, in a few instructions; NULL: `arena_used` knows. */
extern HIDDEN struct arena *arenas_table[ARENAS_MAX];
INLINE struct owner *arena_owner(size_t number)
{
    const struct arena *arena = number < ARENAS_MAX ? load_acquire(&arenas_table[number]) : NULL;
    return arena == NULL || arena->state != ARENA_LIVE ? NULL : arena->owner;
}
struct caller;
void arena_reset(struct arena *arena, const struct caller *caller);
void arena_destroy(struct arena *arena, const struct caller *caller);
void arena_set_hooks(struct arena *arena, struct extent_hooks *hooks);

/* Memory of the hooks: a block; free extents that have been free for `idle_ms` go back; and all of
 * them, after the last block. */
void *extents_take(struct owner *owner, size_t size, size_t align, bool *zero);
void extents_purge(struct arena *arena, uint64_t idle_ms);
void extents_end(struct arena *arena);
/* What is noted about them is to be in such memory, too. False when memory is out. */
bool extents_keep_books(struct arena *arena);
/* An extent of the arena became free. A very large one goes back at once, unless idle memory is to
 * stay for ever. */
void extents_freed(struct lender *lender);
/* A large block of such memory for another size, where it is: at most `max` bytes, at least
 * `min`. Its size then. */
size_t extents_resize(void *p, size_t min, size_t max);

#endif
