/* SPDX-License-Identifier: MIT */
/*
 * stats.*: what was true when `epoch` was last written, for the process, for each arena, and for
 * arenas that were destroyed. What the arenas of the program have is counted by their owners;
 * number 0 has the rest.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/mallctl.h"

/* Of all arenas, of number 0, of those that are gone. */
static BULK struct figures all, rest, destroyed;

struct making {
    struct figures now, left, part;
    struct account account;
};

static void copy(struct figures *to, const struct figures *from);
static NOINLINE void refresh_on_stack(void);
static NOINLINE void refresh(struct making *making);
static void count_process(struct figures *now, struct account *account);
static void count_arena(const struct arena *arena, struct figures *now);
static void subtract(struct figures *from, const struct figures *part);
static void figures_keep(struct arena *arena, const struct figures *figures);
static void take_oversize(struct figures *left, struct figures *part);
static void add(struct figures *to, const struct figures *part);
static size_t words_used(const struct figures *a, const struct figures *b);
static const struct figures *of_arena(size_t number);

/* Threads may have 16 KiB of stack, and what figures are made in takes more: it is mapped. */
void figures_refresh(void)
{
    struct making *making = os_map(sizeof *making);
    if (making == NULL) { /* memory is out */
        refresh_on_stack();
    } else {
        refresh(making);
        os_unmap(making, sizeof *making);
    }
}

static NOINLINE void refresh_on_stack(void)
{
    struct making making;
    refresh(&making);
}

static NOINLINE void refresh(struct making *making)
{
    struct figures *left = &making->left;
    count_process(&making->now, &making->account);
    *left = making->now;
    if (load_relaxed(&destroyed.small_allocs) + load_relaxed(&destroyed.large_allocs) > 0)
        subtract(left, &destroyed);
    unsigned count = arenas_count();
    for (unsigned i = 1; i < count; i++) {
        struct arena *arena = arena_at(i);
        if (arena == NULL || load_acquire(&arena->owner) == NULL)
            continue;
        count_arena(arena, &making->part);
        subtract(left, &making->part);
        figures_keep(arena, &making->part);
    }
    take_oversize(left, &making->part);
    copy(&all, &making->now);
    copy(&rest, left);
    __atomic_add_fetch(&arenas_epoch, 1, __ATOMIC_RELAXED);
}

static void figures_keep(struct arena *arena, const struct figures *figures)
{
    if (arena->figures == NULL)
        store_release(&arena->figures, meta_take(sizeof *arena->figures));
    if (arena->figures != NULL)
        copy(arena->figures, figures);
}

/* Very large blocks that no arena owns are counted for an arena of theirs, beside what it owns. The
 * bytes follow from the sizes, which are those of blocks or up to a quarter above. */
static void take_oversize(struct figures *left, struct figures *part)
{
    unsigned first_size = 0, number = arena_oversize(&first_size);
    memset(part, 0, sizeof *part);
    for (unsigned i = first_size; number != 0 && i < left->large_used; i++) {
        const struct large_count *count = &left->large[i];
        part->large[i] = *count;
        part->large_allocs += count->allocs;
        part->large_frees += count->frees;
        part->large_allocated += (count->allocs - count->frees) * large_size_at(i);
    }
    struct arena *arena = part->large_allocs == 0 ? NULL : arena_at(number);
    if (arena == NULL)
        return;
    part->large_used = left->large_used;
    if (part->large_allocated > left->large_allocated)
        part->large_allocated = left->large_allocated;
    part->allocated = part->active = part->mapped = part->resident = part->large_allocated;
    part->pages_active = part->active / os_page_size();
    subtract(left, part);
    if (load_acquire(&arena->owner) != NULL && arena->figures != NULL)
        add(part, arena->figures);
    figures_keep(arena, part);
}

static void add(struct figures *to, const struct figures *part)
{
    uint64_t used = to->large_used > part->large_used ? to->large_used : part->large_used;
    for (size_t i = 0, words = words_used(to, part); i < words; i++)
        ((uint64_t *)to)[i] += ((const uint64_t *)part)[i];
    to->large_used = used;
}

static uint64_t round_up(uint64_t bytes)
{
    uint64_t page = os_page_size();
    return (bytes + page - 1) & ~(page - 1);
}

/* Words of both that are not 0. */
static size_t words_used(const struct figures *a, const struct figures *b)
{
    uint64_t used = a->large_used > b->large_used ? a->large_used : b->large_used;
    return (offsetof(struct figures, large) + used * sizeof a->large[0]) / sizeof(uint64_t);
}

/* Word by word: other threads may be reading. */
static void copy(struct figures *to, const struct figures *from)
{
    for (size_t i = 0, words = words_used(to, from); i < words; i++)
        store_relaxed((uint64_t *)to + i, load_relaxed((const uint64_t *)from + i));
}

/* Other threads go on while parts are counted: less than nothing is nothing. */
static void subtract(struct figures *from, const struct figures *part)
{
    uint64_t large_used = from->large_used;
    for (size_t i = 0, words = words_used(from, part); i < words; i++) {
        uint64_t *value = (uint64_t *)from + i, less = ((const uint64_t *)part)[i];
        *value -= less < *value ? less : *value;
    }
    from->large_used = large_used;
}

static void add_class(struct figures *now, unsigned class, const struct figures_class *more)
{
    struct figures_class *sum = &now->classes[class];
    sum->allocs += more->allocs;
    sum->frees += more->frees;
    sum->fills += more->fills;
    sum->flushes += more->flushes;
    sum->made += more->made;
    sum->spans += more->spans;
    now->small_allocs += more->allocs;
    now->small_frees += more->frees;
    now->small_fills += more->fills;
    now->small_flushes += more->flushes;
    now->small_allocated += (more->allocs - more->frees) * class_size(class);
}

/* What centres and owners count of their own. */
static void count_turns(struct figures *now)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        const struct central *lists = central_peek(pool, 0);
        for (unsigned list = 1; lists != NULL && list < CENTRAL_COUNT; list++) {
            const struct central *central = &lists[list];
            unsigned mark = list < CENTRAL_WATCHED ? list : list - CENTRAL_WATCHED;
            if (load_relaxed(&central->made) == 0 || mark == MARK_FREE || mark == MARK_LARGE ||
                mark == MARK_WATCHED)
                continue;
            struct figures_class more = {.fills = load_relaxed(&central->fills),
                                         .flushes = load_relaxed(&central->flushes),
                                         .made = load_relaxed(&central->made),
                                         .spans = load_relaxed(&central->spans)};
            add_class(now, mark_class(mark), &more);
        }
    }
    for (const struct owner *owner = owner_first(); owner != NULL; owner = owner->all) {
        struct owner_sum sums[CLASS_COUNT];
        owner_sums(owner, sums);
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            const struct owner_sum *sum = &sums[class];
            add_class(now, class,
                      &(struct figures_class){.fills = sum->fills,
                                              .flushes = sum->flushes,
                                              .made = sum->made,
                                              .spans = sum->spans});
        }
    }
}

static void count_large(struct figures *now, const struct large_count *counts)
{
    for (unsigned i = 0; i < LARGE_SIZES; i++) {
        uint64_t frees = load_relaxed(&counts[i].frees), allocs = load_relaxed(&counts[i].allocs);
        if (likely(allocs == 0))
            continue;
        now->large[i] = (struct large_count){.allocs = allocs, .frees = frees};
        now->large_used = i + 1;
    }
}

/* Small blocks in memory that the program lends. The account has them among the large ones. */
static void add_lent(struct figures *now, const struct lender *lender, unsigned class)
{
    uint64_t slabs = load_relaxed(&lender->slab_count[class]);
    struct figures_class more = {.frees = load_relaxed(&lender->frees[class]),
                                 .allocs = load_relaxed(&lender->allocs[class]),
                                 .made = slabs,
                                 .spans = slabs};
    add_class(now, class, &more);
}

/* From our account to jemalloc's terms: active is what holds blocks, mapped includes the dirty
 * pages and the tables, retained is the rest of the address space. */
static void count_process(struct figures *now, struct account *account)
{
    memset(now, 0, sizeof *now);
    account_take(account);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        add_class(now, class,
                  &(struct figures_class){.allocs = account->classes[class].allocs,
                                          .frees = account->classes[class].frees});
    count_turns(now);
    for (unsigned class = 1; lent_any() && class < CLASS_COUNT; class ++)
        add_lent(now, &lent_all, class);
    now->allocated = account->live_bytes;
    if (now->small_allocated > now->allocated)
        now->small_allocated = now->allocated;
    now->large_allocated = now->allocated - now->small_allocated;
    if (account->total.allocs > now->small_allocs)
        now->large_allocs = account->total.allocs - now->small_allocs;
    if (account->total.frees > now->small_frees)
        now->large_frees = account->total.frees - now->small_frees;
    now->active = round_up(account->live_bytes + account->cached_bytes + account->fragmented_bytes);
    now->pages_dirty = round_up(account->dirty_bytes) / os_page_size();
    now->metadata = account->metadata_bytes;
    now->resident = account->resident_bytes > now->active ? account->resident_bytes : now->active;
    uint64_t backed = now->active + round_up(account->dirty_bytes);
    if (account->mapped_bytes > backed)
        now->retained = account->mapped_bytes - backed;
    now->mapped = backed + round_up(now->metadata);
    now->pages_active = now->active / os_page_size();
    now->cached = account->cached_bytes;
    now->threads = account->heaps;
    count_large(now, large_counts);
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        now->purges += load_relaxed(&pages_of[pool].returns);
        now->purged +=
            (load_relaxed(&pages_of[pool].returned_units) << UNIT_SHIFT) / os_page_size();
    }
}

static void count_arena(const struct arena *arena, struct figures *now)
{
    const struct lender *lender = &arena->lender;
    struct owner_sum sums[CLASS_COUNT];
    uint64_t held = 0;
    memset(now, 0, sizeof *now);
    owner_sums(arena->owner, sums);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        const struct owner_sum *sum = &sums[class];
        struct figures_class more = {
            .allocs = sum->mallocs,
            .frees = sum->mallocs - sum->live,
            .fills = sum->fills,
            .flushes = sum->flushes,
            .made = sum->made,
            .spans = sum->spans,
        };
        add_class(now, class, &more);
        add_lent(now, lender, class);
        held += (sum->live + sum->cached + sum->here) * class_size(class);
        now->cached += sum->cached * class_size(class);
    }
    now->large_allocs = sums[0].mallocs + load_relaxed(&lender->allocs[0]);
    now->large_frees = sums[0].mallocs - sums[0].live + load_relaxed(&lender->frees[0]);
    now->large_allocated =
        load_relaxed(&arena->owner->large_bytes) + load_relaxed(&lender->large_bytes);
    now->allocated = now->small_allocated + now->large_allocated;
    now->active = round_up(held + load_relaxed(&arena->owner->large_bytes)) +
                  load_relaxed(&lender->active_bytes);
    now->pages_active = now->active / os_page_size();
    now->pages_dirty = load_relaxed(&lender->dirty_bytes) / os_page_size();
    now->mapped = now->active + load_relaxed(&lender->dirty_bytes);
    now->retained = load_relaxed(&lender->retained_bytes);
    now->metadata = sizeof *arena + sizeof *arena->owner;
    now->resident = now->mapped + now->metadata;
    now->threads = owner_threads(arena->owner);
    const struct large_count *counts = load_acquire(&arena->owner->large_counts);
    if (counts != NULL)
        count_large(now, counts);
    now->purges = load_relaxed(&arena->purges);
    now->purged = load_relaxed(&arena->purged_pages);
}

void figures_destroyed(const struct arena *arena)
{
    struct figures part;
    count_arena(arena, &part);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        uint64_t allocs = part.classes[class].allocs;
        __atomic_fetch_add(&destroyed.classes[class].allocs, allocs, __ATOMIC_RELAXED);
        __atomic_fetch_add(&destroyed.classes[class].frees, allocs, __ATOMIC_RELAXED);
    }
    for (unsigned i = 0; i < part.large_used; i++) {
        uint64_t allocs = part.large[i].allocs;
        __atomic_fetch_add(&destroyed.large[i].allocs, allocs, __ATOMIC_RELAXED);
        __atomic_fetch_add(&destroyed.large[i].frees, allocs, __ATOMIC_RELAXED);
    }
    if (part.large_used > load_relaxed(&destroyed.large_used))
        store_relaxed(&destroyed.large_used, part.large_used);
    __atomic_fetch_add(&destroyed.small_allocs, part.small_allocs, __ATOMIC_RELAXED);
    __atomic_fetch_add(&destroyed.small_frees, part.small_allocs, __ATOMIC_RELAXED);
    __atomic_fetch_add(&destroyed.large_allocs, part.large_allocs, __ATOMIC_RELAXED);
    __atomic_fetch_add(&destroyed.large_frees, part.large_allocs, __ATOMIC_RELAXED);
}

bool figures_of(size_t number, struct figures *out)
{
    if (load_relaxed(&arenas_epoch) == 0)
        figures_refresh();
    const struct figures *from = of_arena(number);
    memset(out, 0, sizeof *out);
    if (from != NULL)
        copy(out, from);
    return from != NULL;
}

bool figures_has(size_t number)
{
    return of_arena(number) != NULL;
}

/* NULL: there is no such arena. */
static const struct figures *of_arena(size_t number)
{
    static const BULK_CONSTANT struct figures none;
    if (number == 0)
        return &rest;
    if (number == MALLCTL_ALL || number == arenas_count())
        return &all;
    if (number == MALLCTL_DESTROYED)
        return &destroyed;
    if (number > arenas_count())
        return NULL;
    const struct arena *arena = arena_at(number);
    const struct figures *kept = arena == NULL ? NULL : load_acquire(&arena->figures);
    return kept == NULL ? &none : kept;
}

int serve_epoch(const struct request *request, const struct node *node)
{
    (void)node;
    uint64_t value;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came || load_relaxed(&arenas_epoch) == 0)
        figures_refresh();
    value = load_relaxed(&arenas_epoch);
    return request_give(request, &value, sizeof value);
}

/* Of the last epoch, `offset` bytes into the figures. */
static uint64_t figure(const struct figures *figures, size_t offset)
{
    if (load_relaxed(&arenas_epoch) == 0)
        figures_refresh();
    return load_relaxed((const uint64_t *)figures + offset / sizeof(uint64_t));
}

int serve_figure(const struct request *request, const struct node *node)
{
    uint64_t value = figure(&all, node->number);
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* As of now, whatever the epoch: as in jemalloc. */
int serve_zero_reallocs(const struct request *request, const struct node *node)
{
    (void)node;
    size_t value = load_relaxed(&libc_zero_reallocs);
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_arena_figure(const struct request *request, const struct node *node)
{
    const struct figures *figures = of_arena(request->numbers[0]);
    int refused = request_read_only(request);
    if (figures == NULL || refused)
        return figures == NULL ? ENOENT : refused;
    uint64_t value = figure(figures, node->number);
    return request_give(request, &value, sizeof value);
}

int serve_arena_unsigned(const struct request *request, const struct node *node)
{
    const struct figures *figures = of_arena(request->numbers[0]);
    int refused = request_read_only(request);
    if (figures == NULL || refused)
        return figures == NULL ? ENOENT : refused;
    unsigned value = (unsigned)figure(figures, node->number);
    return request_give(request, &value, sizeof value);
}

int serve_arena_uptime(const struct request *request, const struct node *node)
{
    (void)node;
    const struct arena *arena = arena_at(request->numbers[0]);
    int refused = request_read_only(request);
    if (of_arena(request->numbers[0]) == NULL || refused)
        return refused ? refused : ENOENT;
    arena = arena == NULL ? arena_at(0) : arena;
    uint64_t value = (os_now_ms() - arena->born_ms) * 1000000;
    return request_give(request, &value, sizeof value);
}

/* Where the active pages of the last epoch stand: the program reads them there without a call. */
int serve_active_pages(const struct request *request, const struct node *node)
{
    (void)node;
    const struct arena *arena = arena_at(request->numbers[0]);
    int refused = request_read_only(request);
    if (request->old == NULL || request->old_length == NULL ||
        *request->old_length != sizeof(size_t *))
        return EINVAL; /* before anything else, as in jemalloc */
    if (arena == NULL || refused)
        return refused ? refused : ENOENT;
    if (load_relaxed(&arenas_epoch) == 0 ||
        (arena->number != 0 && load_acquire(&arena->figures) == NULL))
        figures_refresh();
    const struct figures *figures = arena->number == 0 ? &rest : load_acquire(&arena->figures);
    if (figures == NULL)
        return EAGAIN; /* it has no block yet, or memory is out */
    const uint64_t *where = &figures->pages_active;
    return request_give(request, &where, sizeof where);
}

int serve_class_figure(const struct request *request, const struct node *node)
{
    const struct figures *figures = of_arena(request->numbers[0]);
    if (figures == NULL || request->numbers[1] >= CLASS_LAST)
        return ENOENT;
    int refused = request_read_only(request);
    if (refused)
        return refused;
    size_t class = request->numbers[1] + 1;
    size_t at = offsetof(struct figures, classes) + class * sizeof(struct figures_class);
    uint64_t value = 0;
    if (node->number == CLASS_LIVE)
        value = figure(figures, at + CLASS_ALLOCS) - figure(figures, at + CLASS_FREES);
    else if (node->number != CLASS_ZERO)
        value = figure(figures, at + node->number);
    return request_give(request, &value, sizeof value);
}

/* As in jemalloc, the span that blocks of a class are taken from next does not count. */
void figures_nonfull(size_t number, uint64_t counts[CLASS_COUNT])
{
    const struct arena *arena = number == 0 ? NULL : arena_at(number);
    const struct owner *owner = arena == NULL ? NULL : load_acquire(&arena->owner);
    bool any = number == MALLCTL_ALL || number == arenas_count();
    memset(counts, 0, CLASS_COUNT * sizeof counts[0]);
    for (uint32_t id = 1, ids = span_count(); id < ids && (any || number == 0 || owner != NULL);
         id++) {
        const struct span *span = span_at(id);
        uint32_t free = load_relaxed(&span->free);
        if (load_acquire(&span->state) != SPAN_BLOCKS || free == 0 ||
            free >= load_relaxed(&span->blocks) || (!any && owner_of(span) != owner))
            continue;
        unsigned class = mark_class(load_relaxed(&span->mark));
        if (class < CLASS_COUNT)
            counts[class]++;
    }
    for (unsigned class = 0; class < CLASS_COUNT; class ++)
        counts[class] -= counts[class] > 0;
}

int serve_class_nonfull(const struct request *request, const struct node *node)
{
    (void)node;
    uint64_t counts[CLASS_COUNT];
    if (of_arena(request->numbers[0]) == NULL || request->numbers[1] >= CLASS_LAST)
        return ENOENT;
    int refused = request_read_only(request);
    if (refused)
        return refused;
    figures_nonfull(request->numbers[0], counts);
    return request_give(request, &counts[request->numbers[1] + 1], sizeof counts[0]);
}

int serve_large_figure(const struct request *request, const struct node *node)
{
    const struct figures *figures = of_arena(request->numbers[0]);
    if (figures == NULL || request->numbers[1] >= LARGE_SIZES)
        return ENOENT;
    int refused = request_read_only(request);
    size_t at = offsetof(struct figures, large) + request->numbers[1] * sizeof(struct large_count);
    uint64_t frees = figure(figures, at + offsetof(struct large_count, frees));
    uint64_t allocs = figure(figures, at + offsetof(struct large_count, allocs));
    uint64_t values[] = {[LARGE_ALLOCS] = allocs,
                         [LARGE_FREES] = frees,
                         [LARGE_LIVE] = allocs > frees ? allocs - frees : 0};
    return refused ? refused : request_give(request, &values[node->number], sizeof values[0]);
}

/* The size of jemalloc's classes of free pages that a run of this length counts for: the largest
 * that fits. */
static unsigned extent_index(size_t bytes)
{
    size_t pages = bytes / os_page_size();
    if (pages <= 4)
        return pages == 0 ? 0 : (unsigned)pages - 1;
    unsigned lg = 63 - (unsigned)__builtin_clzl(pages);
    unsigned index = 4 * (lg - 1) + (unsigned)(pages >> (lg - 2) & 3) - 1;
    return index < EXTENT_SIZES ? index : EXTENT_SIZES - 1;
}

size_t extent_size_at(unsigned index)
{
    unsigned n = index + 1;
    size_t pages = n < 4 ? n : (size_t)(4 + n % 4) << (n / 4 - 1);
    return pages * os_page_size();
}

/* All are of number 0: what is free of lent memory belongs to the hooks of an arena. */
RACY void figures_extents(size_t number, struct extent_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    if (number != 0 && number != MALLCTL_ALL && number != arenas_count())
        return;
    for (uint32_t id = 1, ids = span_count(); id < ids; id++) {
        const struct span *span = span_at(id);
        uint8_t state = load_relaxed(&span->state);
        if (state != SPAN_DIRTY && state != SPAN_CLEAN)
            continue;
        size_t bytes = (size_t)load_relaxed(&span->units) << UNIT_SHIFT;
        struct extent_count *count = state == SPAN_DIRTY ? &counts->dirty[extent_index(bytes)]
                                                         : &counts->retained[extent_index(bytes)];
        count->runs++;
        count->bytes += bytes;
    }
}

int serve_extent_figure(const struct request *request, const struct node *node)
{
    (void)node;
    struct extent_counts counts;
    size_t index = request->numbers[1];
    if (of_arena(request->numbers[0]) == NULL || index >= EXTENT_SIZES)
        return ENOENT;
    int refused = request_read_only(request);
    if (refused)
        return refused;
    figures_extents(request->numbers[0], &counts);
    size_t in_bytes = request->numbers[2] & EXTENTS_BYTES, kind = request->numbers[2] - in_bytes;
    struct extent_count none = {0}, count = kind == EXTENTS_DIRTY      ? counts.dirty[index]
                                            : kind == EXTENTS_RETAINED ? counts.retained[index]
                                                                       : none;
    return request_give(request, in_bytes ? &count.bytes : &count.runs, sizeof count.runs);
}

/* 0, for each number of slabs that jemalloc has lists of. */
int serve_hpa_figure(const struct request *request, const struct node *node)
{
    enum { LISTS = 64 };
    return request->numbers[1] >= LISTS ? ENOENT : serve_arena_figure(request, node);
}
