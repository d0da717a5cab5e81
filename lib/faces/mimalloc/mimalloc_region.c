/* SPDX-License-Identifier: MIT */
/* See mimalloc_region.h. A bit for each page of a region says whether a heap has it; pages beyond
 * `touched` were never handed out. Regions stay for ever, as in mimalloc. */
#include "lib/faces/mimalloc/mimalloc_region.h"

#include <string.h>

#include "base/os.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"

enum { REGIONS_MAX = 128 }; /* mimalloc has a limit of about this many arenas */
enum { REGION_MIN = 64 << 10, HUGE_SHIFT = 30 };
/* In the tag of an owner that is an arena's: mi_heap_destroy only deletes it. */
#define TAG_KEPT (UINT64_C(1) << 61)

struct region {
    struct extent_hooks hooks; /* first: the functions below find the region by them */
    char *start;               /* NULL: any region that is not exclusive */
    size_t pages, touched;
    bool exclusive, zero, ours;
    size_t used; /* pages */
    uint64_t *taken;
};

static BULK struct region *regions[REGIONS_MAX]; /* by number - 1 */
static uint32_t regions_count;
static struct region *any;
static struct arena *source; /* blocks of all heaps, where nothing else may be used */
static bool only;
static struct lock regions_lock = {.rank = LOCK_OUTSIDE};

static void unmap_all(char *start, size_t bytes, struct region *region, uint64_t *taken);
static struct region *region_at(int number);
static size_t map_bytes(size_t pages);
static bool commit_all(const struct region_wish *wish, char *start, size_t bytes, bool *zero);
static void hooks_for_region(struct extent_hooks *hooks);
static void use_only(void);

int region_new(const struct region_wish *wish)
{
    size_t page = os_page_size(), lead = -(uintptr_t)wish->start & (page - 1);
    bool zero = wish->zero;
    if (!init_done() || wish->bytes > PTRDIFF_MAX || wish->bytes < REGION_MIN + lead)
        return 0;
    size_t bytes = (wish->bytes - lead) & ~(page - 1);
    char *start = wish->start != NULL ? (char *)wish->start + lead
                  : wish->large       ? os_map_huge(bytes, HUGE_SHIFT)
                                      : os_map(bytes);
    struct region *region = start == NULL ? NULL : os_map(sizeof *region);
    uint64_t *taken = region == NULL ? NULL : os_map(map_bytes(bytes / page));
    if (taken == NULL || (wish->start != NULL && !commit_all(wish, start, bytes, &zero))) {
        unmap_all(wish->start == NULL ? start : NULL, bytes, region, taken);
        return 0;
    }
    *region = (struct region){.start = start,
                              .pages = bytes / page,
                              .exclusive = wish->exclusive,
                              .zero = zero || wish->start == NULL,
                              .ours = wish->start == NULL && !wish->large,
                              .taken = taken};
    hooks_for_region(&region->hooks);
    lock_take(&regions_lock);
    uint32_t number = regions_count < REGIONS_MAX ? regions_count + 1 : 0;
    if (number != 0) {
        store_release(&regions[number - 1], region);
        store_release(&regions_count, number);
    }
    lock_give(&regions_lock);
    if (number == 0)
        unmap_all(wish->start == NULL ? start : NULL, bytes, region, taken);
    use_only();
    return (int)number;
}

/* What a region that does not come to be has; NULL: not yet, or the program's own. */
static void unmap_all(char *start, size_t bytes, struct region *region, uint64_t *taken)
{
    if (start != NULL)
        os_unmap(start, bytes);
    if (region != NULL)
        os_unmap(region, sizeof *region);
    if (taken != NULL)
        os_unmap(taken, map_bytes(bytes / os_page_size()));
}

static struct region *region_at(int number)
{
    return number < 1 || number > (int)load_acquire(&regions_count)
               ? NULL
               : load_acquire(&regions[number - 1]);
}

static size_t map_bytes(size_t pages)
{
    return (pages + 63) / 64 * sizeof(uint64_t);
}

static bool commit_all(const struct region_wish *wish, char *start, size_t bytes, bool *zero)
{
    if (wish->committed)
        return true;
    if (wish->commit == NULL)
        return os_access(start, bytes, true);
    bool is_zero = false;
    bool done = wish->commit(true, start, bytes, &is_zero, wish->arg);
    *zero = *zero || is_zero;
    return done;
}

void *region_area(int number, size_t *bytes)
{
    const struct region *region = region_at(number);
    *bytes = region == NULL ? 0 : region->pages * os_page_size();
    return region == NULL ? NULL : region->start;
}

bool region_used(int number, size_t *bytes)
{
    const struct region *region = region_at(number);
    *bytes = region == NULL ? 0 : load_relaxed(&region->used) * os_page_size();
    return region != NULL;
}

static bool is_taken(const struct region *region, size_t page)
{
    return region->taken[page / 64] >> (page % 64) & 1;
}

static void mark(struct region *region, size_t first, size_t count, bool taken)
{
    for (size_t i = first; i < first + count; i++) {
        uint64_t bit = UINT64_C(1) << (i % 64);
        region->taken[i / 64] = taken ? region->taken[i / 64] | bit : region->taken[i / 64] & ~bit;
    }
    store_relaxed(&region->used, region->used + (taken ? count : -count));
}

/* The first run of free pages that fits; `pages` of the region: there is none. */
static size_t find_locked(const struct region *region, size_t count, size_t align)
{
    size_t page = os_page_size(), from = 0;
    while (from + count <= region->pages) {
        uintptr_t lead = -(uintptr_t)(region->start + from * page) & (align - 1);
        size_t first = from + lead / page, free = 0;
        if (lead != 0 && first >= region->pages)
            break;
        while (free < count && first + free < region->pages && !is_taken(region, first + free))
            free++;
        if (free == count)
            return first;
        from = first + free + 1;
    }
    return region->pages;
}

static char *take_from(struct region *region, size_t bytes, size_t align, bool *zero)
{
    size_t page = os_page_size(), count = bytes / page;
    char *got = NULL;
    lock_take(&regions_lock);
    size_t first = find_locked(region, count, align);
    if (first < region->pages) {
        mark(region, first, count, true);
        *zero = region->zero && first >= region->touched;
        if (first + count > region->touched)
            region->touched = first + count;
        got = region->start + first * page;
    }
    lock_give(&regions_lock);
    return got;
}

static struct region *region_with(const char *at)
{
    for (int number = 1; number <= (int)load_acquire(&regions_count); number++) {
        struct region *region = region_at(number);
        if ((size_t)(at - region->start) < region->pages * os_page_size() && at >= region->start)
            return region;
    }
    return NULL;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

static void *lend(struct extent_hooks *hooks, void *at, size_t size, size_t align, bool *zero,
                  bool *commit, unsigned arena)
{
    struct region *region = (struct region *)hooks;
    char *got = NULL;
    *commit = true;
    if (at != NULL)
        return NULL;
    if (region->start != NULL)
        return take_from(region, size, align, zero);
    for (int number = 1; got == NULL && (region = region_at(number)) != NULL; number++)
        if (!region->exclusive)
            got = take_from(region, size, align, zero);
    return got;
}

/* Neighbours may have become one, of two regions. */
static bool take_back(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                      unsigned arena)
{
    size_t page = os_page_size();
    for (char *start = at, *end = start + size; start < end;) {
        struct region *region = region_with(start);
        if (region == NULL)
            return true;
        size_t first = (size_t)(start - region->start) / page, count = (size_t)(end - start) / page;
        count = count < region->pages - first ? count : region->pages - first;
        if (region->ours)
            os_return(start, count * page);
        lock_take(&regions_lock);
        mark(region, first, count, false);
        lock_give(&regions_lock);
        start += count * page;
    }
    return false;
}

static void take_back_last(struct extent_hooks *hooks, void *at, size_t size, bool committed,
                           unsigned arena)
{
    take_back(hooks, at, size, committed, arena);
}

static void hooks_for_region(struct extent_hooks *hooks)
{
    *hooks = (struct extent_hooks){.alloc = lend,
                                   .dalloc = take_back,
                                   .destroy = take_back_last,
                                   .split = extents_default.split,
                                   .merge = extents_default.merge};
}

static bool is_over(const struct arena *arena)
{
    if (arena->hooks->alloc != lend || arena == load_acquire(&source))
        return false;
    const struct owner *owner = load_acquire(&arena->owner); /* none, if another thread ended it */
    return owner != NULL && owner->deleted && load_relaxed(&arena->lender.live_bytes) == 0;
}

/* A deleted heap without blocks ends: by the thread that takes the arena away from the others. */
static void sweep(void)
{
    struct caller none = {0};
    for (size_t number = 1; number < arenas_count(); number++) {
        struct arena *arena = arena_at(number);
        uint8_t live = ARENA_LIVE;
        if (arena == NULL || !is_over(arena) ||
            !__atomic_compare_exchange_n(&arena->state, &live, ARENA_BEGINS, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        if (is_over(arena))
            arena_destroy(arena, &none);
        else /* it is another heap's by now */
            store_release(&arena->state, ARENA_LIVE);
    }
}

struct owner *region_heap_new(int number, bool kept)
{
    struct region *region = region_at(number);
    if (region == NULL)
        return NULL;
    sweep();
    struct arena *arena = arena_create(&region->hooks);
    if (arena == NULL)
        return NULL;
    arena->dirty_ms = 0; /* what is free is free for all heaps of the region */
    arena->owner->tag |= kept ? TAG_KEPT : 0;
    return arena->owner;
}

bool region_has_heap(const struct owner *heap)
{
    return heap->lend != NULL && arena_of_owner(heap)->hooks->alloc == lend;
}

struct owner *region_heap_of(const void *p)
{
    struct arena *arena = (struct arena *)lent_by(p);
    if (arena == NULL || arena->hooks->alloc != lend || arena == load_acquire(&source))
        return NULL;
    struct owner *owner = load_acquire(&arena->owner);
    return owner == NULL || owner->deleted ? NULL : owner;
}

struct lender *region_lender(const struct owner *heap)
{
    return &arena_of_owner(heap)->lender;
}

void region_heap_delete(struct owner *heap)
{
    heap->deleted = true;
    if (heap_self != NULL && heap_self->default_owner == heap)
        cold_owned_default(NULL);
    sweep();
}

void region_heap_destroy(struct owner *heap, const struct caller *caller)
{
    if (heap->tag & TAG_KEPT)
        region_heap_delete(heap);
    else
        arena_destroy(arena_of_owner(heap), caller);
}

static bool never(size_t bytes)
{
    return false;
}

/* `any` and `source` are there, whichever thread made them. */
static bool make_source(void)
{
    struct caller none = {0};
    struct region *region = NULL;
    struct arena *arena = NULL;
    if (load_acquire(&any) == NULL) {
        struct region *made = os_map(sizeof *made);
        if (made == NULL)
            return false;
        hooks_for_region(&made->hooks);
        if (!__atomic_compare_exchange_n(&any, &region, made, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            os_unmap(made, sizeof *made);
    }
    if (load_acquire(&source) == NULL) {
        struct arena *made = arena_create(&load_acquire(&any)->hooks);
        if (made == NULL)
            return false;
        made->dirty_ms = 0;
        if (!__atomic_compare_exchange_n(&source, &arena, made, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            arena_destroy(made, &none);
    }
    return true;
}

/* From the first region on. */
static void use_only(void)
{
    if (load_relaxed(&only) && load_acquire(&regions_count) > 0 && make_source())
        cold_set_source((struct memory_source){never, load_acquire(&source)->owner});
}

void regions_only(bool now)
{
    bool before = load_relaxed(&only);
    store_relaxed(&only, now);
    if (now)
        use_only();
    else if (before && load_acquire(&source) != NULL)
        cold_set_source((struct memory_source){NULL, NULL});
}
