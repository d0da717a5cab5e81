/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program lends by jemalloc's extent hooks (jemalloc_arena.h): when each is called,
 * and what follows from its answer. lib/alloc/lent.c has the books. No lock is held while a hook
 * runs, so that it may allocate; what it allocates is never the arena's.
 *
 *      a block is needed    a free extent that fits: split, commit; or else alloc
 *      a block is freed     nothing; with a decay time of 0 as in the next line
 *      time, purge, decay   dalloc; refused: decommit; refused: purge_forced, then purge_lazy
 *      destroy              the same, and destroy for what dalloc refused
 *      xallocx              split, or commit and merge with the free extent behind the block
 */
#include "base/os.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"

/* Of one call, as each asks the program's hook; what is left is joined at the next one. */
enum { JOINS_MAX = 64 };

static void *default_alloc(struct extent_hooks *hooks, void *at, size_t size, size_t align,
                           bool *zero, bool *commit, unsigned arena);
static bool default_dalloc(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                           unsigned arena);
static void default_destroy(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                            unsigned arena);
static bool default_commit(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                           size_t length, unsigned arena);
static bool default_decommit(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                             size_t length, unsigned arena);
static bool default_purge(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                          size_t length, unsigned arena);
static bool default_split(struct extent_hooks *hooks, void *at, size_t size, size_t size_first,
                          size_t size_second, bool committed, unsigned arena);
static bool default_merge(struct extent_hooks *hooks, void *first, size_t size_first, void *second,
                          size_t size_second, bool committed, unsigned arena);

struct extent_hooks extents_default = {
    default_alloc, default_dalloc, default_destroy, default_commit, default_decommit,
    default_purge, default_purge,  default_split,   default_merge,
};

static size_t whole_pages(size_t bytes);
static struct extent *obtain(struct arena *arena, size_t bytes, size_t align);
static void purge(struct arena *arena, uint64_t idle_ms, size_t min);
static size_t shrink(struct extent *extent, size_t bytes);
static size_t grow(struct extent *extent, size_t bytes);

void *extents_take(struct owner *owner, size_t size, size_t align, bool *zero)
{
    struct arena *arena = arena_of_owner(owner);
    size_t room = sizes_room(size, align), page = os_page_size();
    *zero = false;
    if (size > PTRDIFF_MAX || align > PTRDIFF_MAX)
        return NULL;
    if (arena->dirty_ms > 0 && load_relaxed(&arena->lender.dirty_bytes) != 0)
        purge(arena, (uint64_t)arena->dirty_ms, 1);
    if (room > BLOCK_MAX) {
        struct extent *extent =
            obtain(arena, whole_pages(size == 0 ? 1 : size), align > page ? align : page);
        *zero = extent != NULL && extent->zero;
        return extent == NULL ? NULL : extent_begin_large(extent);
    }
    for (;;) { /* again only if other threads were faster */
        unsigned class = class_of(room);
        void *block = lent_take(&arena->lender, class);
        if (block != NULL)
            return block;
        struct extent *extent = obtain(arena, extent_slab_bytes(class), page);
        if (extent == NULL)
            return NULL;
        extent_begin_slab(extent, class);
    }
}

static size_t whole_pages(size_t bytes)
{
    size_t page = os_page_size();
    return (bytes + page - 1) & ~(page - 1);
}

static struct arena *arena_of_lender(struct lender *lender)
{
    return (struct arena *)lender;
}

/* Cuts the extent to its first `bytes`. True: the program refused, and nothing has changed. */
static bool cut(struct arena *arena, struct extent *extent, size_t bytes, struct extent **rest)
{
    struct extent_hooks *hooks = arena->hooks;
    *rest = NULL;
    if (hooks->split == NULL ||
        hooks->split(hooks, extent->start, extent->bytes, bytes, extent->bytes - bytes,
                     extent->committed, arena->number))
        return true;
    *rest = extent_cut(extent, bytes);
    return *rest == NULL;
}

static bool commit(struct arena *arena, struct extent *extent)
{
    struct extent_hooks *hooks = arena->hooks;
    if (!extent->committed)
        extent->committed =
            hooks->commit != NULL &&
            !hooks->commit(hooks, extent->start, extent->bytes, 0, extent->bytes, arena->number);
    return extent->committed;
}

static void put_back(struct extent *extent)
{
    extent_free(extent, extent->committed && !extent->zero ? EXTENT_DIRTY : EXTENT_RETAINED);
}

/* The part of a free extent that is needed, usable; the rest stays free. NULL: refused. */
static struct extent *part_of(struct arena *arena, struct extent *extent, size_t bytes,
                              size_t align)
{
    struct extent *rest;
    size_t lead = -(uintptr_t)extent->start & (align - 1);
    if (lead != 0) {
        if (cut(arena, extent, lead, &rest)) {
            put_back(extent);
            return NULL;
        }
        put_back(extent);
        extent = rest;
    }
    if (extent->bytes > bytes) {
        if (cut(arena, extent, bytes, &rest)) {
            put_back(extent);
            return NULL;
        }
        put_back(rest);
    }
    if (commit(arena, extent))
        return extent;
    put_back(extent);
    return NULL;
}

/* Free neighbours become one. True if any did. */
static bool join_free(struct arena *arena)
{
    struct extent_hooks *hooks = arena->hooks;
    bool any = false;
    for (unsigned i = 0; i < JOINS_MAX; i++) {
        struct extent *second, *first = extent_neighbours(&arena->lender, &second);
        if (first == NULL)
            break;
        bool refused =
            hooks->merge == NULL || hooks->merge(hooks, first->start, first->bytes, second->start,
                                                 second->bytes, first->committed, arena->number);
        bool joined = !refused && extent_join(first, second);
        put_back(first);
        if (!joined) {
            put_back(second);
            break;
        }
        any = true;
    }
    return any;
}

static struct extent *fresh(struct arena *arena, size_t bytes, size_t align)
{
    struct extent_hooks *hooks = arena->hooks;
    bool zero = false, committed = true;
    void *start = hooks->alloc(hooks, NULL, bytes, align, &zero, &committed, arena->number);
    if (start == NULL)
        return NULL;
    struct extent *extent = extent_new(&arena->lender, start, bytes);
    if (extent == NULL) {
        if (hooks->dalloc != NULL)
            hooks->dalloc(hooks, start, bytes, committed, arena->number);
        return NULL;
    }
    extent->zero = zero;
    extent->committed = committed;
    if (commit(arena, extent))
        return extent;
    put_back(extent);
    return NULL;
}

static struct extent *obtain(struct arena *arena, size_t bytes, size_t align)
{
    struct extent *extent = extent_find(&arena->lender, bytes, align);
    if (extent == NULL && join_free(arena))
        extent = extent_find(&arena->lender, bytes, align);
    if (extent != NULL)
        extent = part_of(arena, extent, bytes, align);
    return extent != NULL ? extent : fresh(arena, bytes, align);
}

/* What the program does with memory that it does not take back. */
static void clean(struct arena *arena, struct extent *extent)
{
    struct extent_hooks *hooks = arena->hooks;
    size_t bytes = extent->bytes;
    if (extent->committed && hooks->decommit != NULL &&
        !hooks->decommit(hooks, extent->start, bytes, 0, bytes, arena->number)) {
        extent->committed = false;
        extent->zero = true;
    } else if (hooks->purge_forced != NULL &&
               !hooks->purge_forced(hooks, extent->start, bytes, 0, bytes, arena->number)) {
        extent->zero = true;
    } else if (hooks->purge_lazy != NULL) {
        hooks->purge_lazy(hooks, extent->start, bytes, 0, bytes, arena->number);
    }
    extent_free(extent, EXTENT_RETAINED);
}

static bool give_back(struct arena *arena, struct extent *extent)
{
    struct extent_hooks *hooks = arena->hooks;
    if (hooks->dalloc == NULL ||
        hooks->dalloc(hooks, extent->start, extent->bytes, extent->committed, arena->number))
        return false;
    extent_drop(extent);
    return true;
}

/* Of at least `min` bytes. */
static void purge(struct arena *arena, uint64_t idle_ms, size_t min)
{
    uint64_t now = os_now_ms(), before = now > idle_ms ? now - idle_ms : 0;
    struct extent *extent;
    /* Ends: none of these is dirty then. */
    while ((extent = extent_next(&arena->lender, before, min, false)) != NULL) {
        __atomic_fetch_add(&arena->purges, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&arena->purged_pages, extent->bytes / os_page_size(), __ATOMIC_RELAXED);
        if (!give_back(arena, extent))
            clean(arena, extent);
    }
}

void extents_purge(struct arena *arena, uint64_t idle_ms)
{
    bool before = young.lending;
    young.lending = true;
    purge(arena, idle_ms, 1);
    young.lending = before;
}

void extents_end(struct arena *arena)
{
    struct extent *extent;
    struct extent_hooks *hooks = arena->hooks;
    bool before = young.lending;
    young.lending = true;
    purge(arena, 0, 1);
    while ((extent = extent_next(&arena->lender, 0, 1, true)) != NULL) {
        if (hooks->destroy != NULL)
            hooks->destroy(hooks, extent->start, extent->bytes, extent->committed, arena->number);
        extent_drop(extent);
    }
    if (arena->lender.books != NULL && hooks->destroy != NULL)
        hooks->destroy(hooks, arena->lender.books, arena->lender.books_bytes, true, arena->number);
    young.lending = before;
}

bool extents_keep_books(struct arena *arena)
{
    struct extent_hooks *hooks = arena->hooks;
    size_t bytes = os_page_size();
    bool zero = false, committed = true, before = young.lending;
    young.lending = true;
    void *start = hooks->alloc(hooks, NULL, bytes, bytes, &zero, &committed, arena->number);
    if (start != NULL && !committed && hooks->commit != NULL)
        committed = !hooks->commit(hooks, start, bytes, 0, bytes, arena->number);
    young.lending = before;
    if (start == NULL || !committed)
        return false;
    lent_keep_books(&arena->lender, start, bytes);
    return true;
}

void extents_freed(struct lender *lender)
{
    struct arena *arena = arena_of_lender(lender);
    size_t oversize = arena_threshold(arena);
    if (young.lending || arena->dirty_ms < 0)
        return;
    bool very_large = oversize != 0 && arena->dirty_ms != 0 && arena->muzzy_ms >= 0;
    if (arena->dirty_ms == 0 || very_large) {
        young.lending = true;
        purge(arena, 0, very_large ? oversize : 1);
        young.lending = false;
    }
}

size_t extents_resize(void *p, size_t min, size_t max)
{
    struct extent *extent = extent_of_large(p);
    if (extent == NULL)
        return lent_size(p);
    size_t before = extent->bytes, now = before, page = os_page_size();
    bool lending = young.lending;
    young.lending = true;
    min = whole_pages(min > BLOCK_MAX ? min : BLOCK_MAX + 1);
    max = max > PTRDIFF_MAX - page ? PTRDIFF_MAX & ~(page - 1) : whole_pages(max);
    if (max < before && max >= min)
        now = shrink(extent, max);
    else if (max > before)
        now = grow(extent, max);
    if (now == before && min > before && min < max)
        now = grow(extent, min);
    young.lending = lending;
    extent_resume_large(extent);
    elsewhere_resized(before, now);
    return now;
}

static size_t shrink(struct extent *extent, size_t bytes)
{
    struct extent *rest;
    if (!cut(arena_of_lender(extent->lender), extent, bytes, &rest))
        put_back(rest);
    return extent->bytes;
}

static size_t grow(struct extent *extent, size_t bytes)
{
    struct arena *arena = arena_of_lender(extent->lender);
    struct extent_hooks *hooks = arena->hooks;
    size_t more = bytes - extent->bytes;
    struct extent *behind = extent_after(extent);
    if (behind == NULL)
        return extent->bytes;
    if (behind->bytes < more) {
        put_back(behind);
        return extent->bytes;
    }
    behind = part_of(arena, behind, more, 1);
    if (behind == NULL)
        return extent->bytes;
    if (hooks->merge == NULL ||
        hooks->merge(hooks, extent->start, extent->bytes, behind->start, behind->bytes,
                     extent->committed, arena->number) ||
        !extent_join(extent, behind))
        put_back(behind);
    return extent->bytes;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* An extent is wherever the kernel has room: none can be had at a certain place. */
static void *default_alloc(struct extent_hooks *hooks, void *at, size_t size, size_t align,
                           bool *zero, bool *commit, unsigned arena)
{
    size_t page = os_page_size(), extra = align > page ? align - page : 0;
    char *start = at != NULL || size > SIZE_MAX - extra ? NULL : os_map(size + extra);
    if (start == NULL)
        return NULL;
    size_t lead = align > page ? -(uintptr_t)start & (align - 1) : 0;
    if (lead != 0)
        os_unmap(start, lead);
    if (extra != lead)
        os_unmap(start + lead + size, extra - lead);
    *zero = *commit = true;
    return start + lead;
}

static bool default_dalloc(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                           unsigned arena)
{
    return !os_unmap(at, size);
}

static void default_destroy(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                            unsigned arena)
{
    os_unmap(at, size);
}

static bool default_commit(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                           size_t length, unsigned arena)
{
    return false;
}

/* Linux hands out more than it has: nothing is gained by it. */
static bool default_decommit(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                             size_t length, unsigned arena)
{
    return true;
}

static bool default_purge(struct extent_hooks *hooks, void *at, size_t size, size_t offset,
                          size_t length, unsigned arena)
{
    return !os_return((char *)at + offset, length);
}

static bool default_split(struct extent_hooks *hooks, void *at, size_t size, size_t size_first,
                          size_t size_second, bool committed, unsigned arena)
{
    return false;
}

static bool default_merge(struct extent_hooks *hooks, void *first, size_t size_first, void *second,
                          size_t size_second, bool committed, unsigned arena)
{
    return false;
}
