/* SPDX-License-Identifier: MIT */
/*
 * See lib/window/pages.h. Free runs hang on shelves by kind and length; a bitmap says which lengths
 * are there, so finding one takes a few instructions. A dirty run is also on a list by age, from
 * which the oldest are returned to the kernel (pages_return.c). A run that is given joins its free
 * neighbours, which it finds by the table of units. If nothing fits, short runs that were kept
 * apart are joined, and at last the window grows.
 */
#include "lib/window/pages.h"

#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/window/harden.h"
#include "lib/window/hold.h"

enum {
    EXACT = 64,    /* runs up to this many units have a list for each length, */
    LOOK_MAX = 16, /* longer ones four lists a doubling; at most this many runs are looked at */
    /* Dirty units are kept for the next blocks, since a page returned costs a fault to get back: */
    DIRTY_MAX = 128 << 20 >> UNIT_SHIFT, /* this many, and */
    DIRTY_SHARE = 1,                     /* one more for this many units in use */
    ALONE_UNITS = 256,                   /* runs up to this many units may stay alone, */
    ALONE_MAX = 256,                     /* and at most this many runs do */
    /* Runs up to the longest of small blocks come from grounds. A page of the coarsest table of
     * live blocks stands for as many units as a ground has. */
    GROUND_RUN_MAX = 16,
    GROUND_UNITS = 256,
};

BULK __attribute__((aligned(2048))) struct pages pages_of[POOL_MAX]; /* begun: on one page */
unsigned pages_nodes = 1;
__thread uint8_t pages_number;
__thread uint8_t pages_side;
uint32_t pages_threads;
bool pages_several;

static unsigned bucket_of(uint32_t units);
static unsigned shelf_of(const struct span *span);
static void age_link(struct pages *pages, struct span *span);
static void age_unlink(struct pages *pages, struct span *span);

void pages_link_locked(struct pages *pages, struct span *span)
{
    unsigned shelf = shelf_of(span), bucket = bucket_of(span->units);
    uint32_t id = span_id(span), head = pages->heads[shelf][bucket];
    span->prev = 0;
    span->next = head;
    if (head != 0)
        span_at(head)->prev = id;
    pages->heads[shelf][bucket] = id;
    pages->filled[shelf][bucket / 64] |= UINT64_C(1) << (bucket % 64);
    span_set_units(span, false);
    if (span->state == SPAN_DIRTY) {
        age_link(pages, span);
        pages->alone += span->alone;
        add_relaxed(&pages->dirty_units, span->units);
    } else {
        add_relaxed(&pages->clean_units, span->units);
    }
}

void pages_unlink_locked(struct pages *pages, struct span *span)
{
    unsigned shelf = shelf_of(span), bucket = bucket_of(span->units);
    if (span->prev != 0)
        span_at(span->prev)->next = span->next;
    else
        pages->heads[shelf][bucket] = span->next;
    if (span->next != 0)
        span_at(span->next)->prev = span->prev;
    if (pages->heads[shelf][bucket] == 0)
        pages->filled[shelf][bucket / 64] &= ~(UINT64_C(1) << (bucket % 64));
    if (span->state == SPAN_DIRTY) {
        age_unlink(pages, span);
        pages->alone -= span->alone;
        span->alone = false;
        add_relaxed(&pages->dirty_units, -(size_t)span->units);
    } else {
        add_relaxed(&pages->clean_units, -(size_t)span->units);
    }
}

static unsigned shelf_of(const struct span *span)
{
    if (span->state != SPAN_CLEAN)
        return SHELF_DIRTY + (unsigned)span->side;
    return span->ground ? SHELF_GROUND + (unsigned)span->side : SHELF_CLEAN;
}

static unsigned bucket_of(uint32_t units)
{
    if (units <= EXACT)
        return units - 1;
    unsigned top = 31u - (unsigned)__builtin_clz(units);
    return EXACT + (top - 6) * 4 + ((units >> (top - 2)) & 3);
}

/* A new run is the newest, but one that was joined with a long idle one may be the oldest. */
static void age_link(struct pages *pages, struct span *span)
{
    uint32_t id = span_id(span), oldest = pages->oldest;
    bool last = oldest != 0 && span->since_ms <= span_at(oldest)->since_ms;
    span->older = last ? 0 : pages->newest;
    span->newer = last ? oldest : 0;
    if (span->older != 0)
        span_at(span->older)->newer = id;
    else
        store_relaxed(&pages->oldest, id);
    if (span->newer != 0)
        span_at(span->newer)->older = id;
    else
        pages->newest = id;
}

static void age_unlink(struct pages *pages, struct span *span)
{
    if (span->older != 0)
        span_at(span->older)->newer = span->newer;
    else
        store_relaxed(&pages->oldest, span->newer);
    if (span->newer != 0)
        span_at(span->newer)->older = span->older;
    else
        pages->newest = span->older;
}

static struct span *span_take_locked(struct pages *pages)
{
    uint32_t id = pages->spare;
    if (id != 0)
        pages->spare = span_at(id)->next;
    else if ((id = span_new_id()) == 0)
        return NULL;
    /* All but the pool: neighbours of other pools look at it, so it must never seem to be theirs.
     */
    struct span *span = span_at(id);
    size_t before = offsetof(struct span, pool), after = before + sizeof span->pool;
    memset(span, 0, before);
    store_relaxed(&span->pool, pool_of(pages));
    memset((char *)span + after, 0, sizeof *span - after);
    return span;
}

static void span_give_locked(struct pages *pages, struct span *span)
{
    store_relaxed(&span->state, SPAN_NONE);
    span->next = pages->spare;
    pages->spare = span_id(span);
}

/* The first non-empty list from `bucket` on, or BUCKETS. */
static unsigned filled_from(const struct pages *pages, unsigned shelf, unsigned bucket)
{
    for (unsigned word = bucket / 64; word < COUNT_OF(pages->filled[0]); word++) {
        uint64_t bits = pages->filled[shelf][word];
        if (word == bucket / 64)
            bits &= ~UINT64_C(0) << (bucket % 64);
        if (bits != 0)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return BUCKETS;
}

static struct span *find_locked(struct pages *pages, unsigned shelf, uint32_t units)
{
    unsigned bucket = bucket_of(units);
    if (bucket >= EXACT) { /* its own list may hold shorter runs: look for the best fit */
        struct span *best = NULL;
        uint32_t id = pages->heads[shelf][bucket];
        for (int i = 0; id != 0 && i < LOOK_MAX; i++, id = span_at(id)->next) {
            struct span *span = span_at(id);
            if (span->units >= units && (best == NULL || span->units < best->units))
                best = span;
        }
        if (best != NULL)
            return best;
        bucket++;
    }
    bucket = filled_from(pages, shelf, bucket);
    return bucket == BUCKETS ? NULL : span_at(pages->heads[shelf][bucket]);
}

/* Age and side of a joined run are those of its longer part, so that what comes and goes at the
 * edge of a long idle run does not keep it young. */
static void inherit(struct span *span, const struct span *a, const struct span *b)
{
    const struct span *longer = a->units > b->units ? a : b;
    span->since_ms = longer->since_ms;
    span->side = longer->side;
}

/* The free run at `unit` if it is of the pool and of the state; or NULL. */
static struct span *free_at(const struct pages *pages, uint32_t unit, uint8_t state)
{
    uint32_t id = load_acquire(&window.units[unit]);
    struct span *span = span_at(id);
    bool fits = id != 0 && load_relaxed(&span->pool) == pool_of(pages) &&
                load_relaxed(&span->state) == state && unit - span->first < span->units;
    return fits ? span : NULL;
}

/* The same if it may be joined with a free run. */
static struct span *like_at(const struct pages *pages, uint32_t unit, const struct span *span)
{
    struct span *other = free_at(pages, unit, span->state);
    bool fits = other != NULL && other->ground == span->ground &&
                (!span->ground || other->side == span->side);
    return fits ? other : NULL;
}

/* Joins a free run, in no list yet, with neighbours of its kind. Beyond one that was alone there
 * may be others. */
static struct span *join_locked(struct pages *pages, struct span *span)
{
    struct span *low, *high;
    while ((high = like_at(pages, span->first + span->units, span)) != NULL) {
        pages_unlink_locked(pages, high);
        uint32_t more = high->units;
        span->zero &= high->zero;
        span->full &= high->full;
        inherit(span, span, high);
        span_give_locked(pages, high);
        span->units += more;
    }
    while ((low = like_at(pages, span->first - 1, span)) != NULL) {
        pages_unlink_locked(pages, low);
        uint32_t more = span->units;
        low->zero &= span->zero;
        low->full &= span->full;
        inherit(low, low, span);
        span_give_locked(pages, span);
        low->units += more;
        span = low;
    }
    return span;
}

void pages_release_locked(struct pages *pages, struct span *span, enum span_state state)
{
    store_relaxed(&span->state, (uint8_t)state);
    pages_link_locked(pages, join_locked(pages, span));
}

/* Joins all runs that are alone. False if there are none. */
static bool join_all_locked(struct pages *pages)
{
    bool any = pages->alone > 0;
    /* Ends: `alone` falls with every run that is joined, and a pass over the list, from the oldest
     * on, meets one as long as there is any. */
    for (uint32_t id = pages->oldest; pages->alone > 0;) {
        struct span *span = span_at(id);
        id = span->newer;
        if (span->alone) {
            pages_unlink_locked(pages, span);
            pages_link_locked(pages, join_locked(pages, span));
        }
        if (id == 0 || span_at(id)->state != SPAN_DIRTY)
            id = pages->oldest; /* the next one was joined as well */
    }
    return any;
}

/* Cuts what lies beyond `units` off a run in no list and makes it free. */
static void cut_locked(struct pages *pages, struct span *span, uint32_t units,
                       enum span_state state)
{
    struct span *rest = span_take_locked(pages);
    if (rest == NULL)
        return; /* no memory for a span: the run stays longer than asked for */
    rest->first = span->first + units;
    rest->units = span->units - units;
    rest->zero = span->zero;
    rest->full = span->full;
    rest->since_ms = state == SPAN_DIRTY ? span->since_ms : 0;
    rest->side = span->side;
    rest->ground = span->ground;
    span->units = units;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    pages_release_locked(pages, rest, state);
}

static struct span *claim_locked(struct pages *pages, uint32_t units)
{
    uint32_t got = 0;
    struct span *span = span_take_locked(pages);
    if (span == NULL)
        return NULL;
    uint32_t first = arena_claim(units, &got);
    if (first == 0) {
        span_give_locked(pages, span);
        return NULL;
    }
    span->first = first;
    span->units = got;
    span->zero = true;
    if (unlikely(harden_on)) { /* unit 0 with the first one, too */
        uint32_t from = first == 1 ? 0 : first;
        harden_claimed(unit_address(from), (size_t)(first + got - from) << UNIT_SHIFT);
    }
    span->state = SPAN_CLEAN;
    span = join_locked(pages, span);
    pages_link_locked(pages, span);
    return span;
}

/* The clean run at the end of the window needs only the rest, unless something else lies there. */
static struct span *grow_locked(struct pages *pages, uint32_t units)
{
    uint32_t end = (uint32_t)(load_relaxed(&window.granules) >> (UNIT_SHIFT - GRANULE_SHIFT));
    const struct span *last = span_at(end == 0 ? 0 : load_acquire(&window.units[end - 1]));
    bool joins = load_relaxed(&last->state) == SPAN_CLEAN && last->pool == pool_of(pages) &&
                 last->first + last->units == end && last->units < units;
    struct span *span = claim_locked(pages, joins ? units - last->units : units);
    if (span != NULL && span->units < units)
        span = claim_locked(pages, units);
    return span;
}

/* How many units lie before the first aligned one. The alignment is the address's. */
static uint32_t skip_of(const struct span *span, uint32_t align)
{
    uint32_t base = (uint32_t)(window.base >> UNIT_SHIFT);
    return (0u - (base + span->first)) & (align - 1);
}

/* A run that holds `units` aligned ones. Those that happen to lie right are looked for first, as a
 * block that was aligned and freed does; any of `units + align - 1` will do. */
static struct span *find_aligned_locked(struct pages *pages, unsigned shelf, uint32_t units,
                                        uint32_t align)
{
    if (align == 1)
        return find_locked(pages, shelf, units);
    int looked = 0;
    for (unsigned bucket = filled_from(pages, shelf, bucket_of(units));
         bucket < BUCKETS && looked < LOOK_MAX; bucket = filled_from(pages, shelf, bucket + 1)) {
        uint32_t id = pages->heads[shelf][bucket];
        for (; id != 0 && looked < LOOK_MAX; looked++, id = span_at(id)->next)
            if (span_at(id)->units >= (uint64_t)skip_of(span_at(id), align) + units)
                return span_at(id);
    }
    return find_locked(pages, shelf, units + align - 1);
}

static struct span *find_dirty_locked(struct pages *pages, uint32_t units, uint32_t align)
{
    struct span *span = NULL;
    for (unsigned i = 0; i < SIDES && span == NULL; i++)
        span = find_aligned_locked(pages, SHELF_DIRTY + (pages_side + i) % SIDES, units, align);
    return span;
}

/* Makes a ground, if there is enough clean memory in a row, or the window can grow. */
static void ground_make_locked(struct pages *pages)
{
    struct span *span = find_locked(pages, SHELF_CLEAN, GROUND_UNITS);
    if (span == NULL && !hold_refuses(GROUND_UNITS))
        span = grow_locked(pages, GROUND_UNITS);
    if (span == NULL)
        return;
    pages_unlink_locked(pages, span);
    store_relaxed(&span->state, SPAN_NONE);
    if (span->units > GROUND_UNITS)
        cut_locked(pages, span, GROUND_UNITS, SPAN_CLEAN);
    span->side = pages_side % SIDES;
    span->ground = pages->has_grounds = true;
    pages_release_locked(pages, span, SPAN_CLEAN);
}

static struct span *find_ground_locked(struct pages *pages, uint32_t units, uint32_t align)
{
    unsigned shelf = SHELF_GROUND + pages_side % SIDES;
    struct span *span = find_aligned_locked(pages, shelf, units, align);
    if (span == NULL) {
        ground_make_locked(pages);
        span = find_aligned_locked(pages, shelf, units, align);
    }
    return span;
}

/* Memory is out: grounds are clean runs like any other. False if there are none. */
static bool grounds_end_locked(struct pages *pages)
{
    bool any = pages->has_grounds;
    pages->has_grounds = false;
    for (unsigned shelf = SHELF_GROUND; any && shelf < SHELVES; shelf++)
        for (unsigned bucket; (bucket = filled_from(pages, shelf, 0)) < BUCKETS;) {
            struct span *span = span_at(pages->heads[shelf][bucket]);
            pages_unlink_locked(pages, span);
            span->ground = false;
            pages_release_locked(pages, span, SPAN_CLEAN);
        }
    return any;
}

static struct span *find_clean_locked(struct pages *pages, uint32_t units, uint32_t align)
{
    struct span *span = NULL;
    if (units <= GROUND_RUN_MAX && pages_apart() && !harden_on)
        span = find_ground_locked(pages, units, align);
    if (span == NULL)
        span = find_aligned_locked(pages, SHELF_CLEAN, units, align);
    if (span == NULL)
        span = grow_locked(pages, units + align - 1);
    if (span == NULL && grounds_end_locked(pages))
        span = find_aligned_locked(pages, SHELF_CLEAN, units, align);
    return span;
}

static struct span *take_locked(struct pages *pages, uint32_t units, uint32_t align)
{
    struct span *span = find_dirty_locked(pages, units, align);
    if (span == NULL && join_all_locked(pages))
        span = find_dirty_locked(pages, units, align);
    if (span == NULL && hold_refuses(units))
        return NULL;
    if (span == NULL)
        span = find_clean_locked(pages, units, align);
    if (span == NULL)
        return NULL;
    enum span_state state = span->state;
    pages_unlink_locked(pages, span);
    store_relaxed(&span->state, SPAN_NONE); /* or what is cut off would join it again */
    uint32_t skip = skip_of(span, align);
    struct span *front = skip == 0 ? NULL : span_take_locked(pages);
    if (front == NULL && skip != 0) {
        store_relaxed(&span->state, (uint8_t)state);
        pages_link_locked(pages, span);
        return NULL;
    }
    if (front != NULL) {
        front->first = span->first;
        front->units = skip;
        front->zero = span->zero;
        front->full = span->full;
        front->since_ms = span->since_ms;
        front->side = span->side;
        front->ground = span->ground;
        span->first += skip;
        span->units -= skip;
        __atomic_thread_fence(__ATOMIC_RELEASE);
        pages_release_locked(pages, front, state);
    }
    if (span->units > units)
        cut_locked(pages, span, units, state);
    span->ground = false;
    add_relaxed(&pages->used_units, span->units);
    return span;
}

/* Memory is out: what is dirty becomes clean and joins its neighbours, which may be enough. */
static struct span *take(struct pages *pages, uint32_t units, uint32_t align)
{
    lock_take(&pages->lock);
    struct span *span = take_locked(pages, units, align);
    lock_give(&pages->lock);
    if (span == NULL && !hold_refuses(units) && pages_return(pool_of(pages), UINT64_MAX) > 0) {
        lock_take(&pages->lock);
        span = take_locked(pages, units, align);
        lock_give(&pages->lock);
    }
    return span;
}

/* With `harden`: whole pages of the kernel's, and one more behind them, which stays closed. */
static struct span *take_hardened(struct pages *pages, uint32_t units, uint32_t align)
{
    uint32_t page = harden_units, whole = (units + page - 1) & ~(page - 1);
    struct span *span = take(pages, whole + page, align > page ? align : page);
    if (span == NULL)
        return NULL;
    char *start = span_start(span);
    size_t bytes = (size_t)whole << UNIT_SHIFT, behind = (size_t)page << UNIT_SHIFT;
    harden_fence(start + bytes, behind, span->zero);
    if (harden_open(start, bytes))
        return span;
    span->zero = false;
    pages_give(span);
    return NULL;
}

struct span *pages_take(unsigned pool, uint32_t units, uint32_t align)
{
    struct pages *pages = &pages_of[pool];
    if (unlikely(load_relaxed(&pages->lock.rank) != LOCK_PAGES))
        store_relaxed(&pages->lock.rank, LOCK_PAGES);
    return unlikely(harden_on) ? take_hardened(pages, units, align) : take(pages, units, align);
}

void pages_give(struct span *span)
{
    struct pages *pages = &pages_of[span->pool];
    uint64_t now = os_now_ms();
    if (unlikely(harden_on && !span->zero))
        span->zero = harden_close(span_start(span), (size_t)span->units << UNIT_SHIFT);
    lock_take(&pages->lock);
    add_relaxed(&pages->used_units, -(size_t)(span->units));
    store_relaxed(&span->state, SPAN_NONE); /* before the fields that free runs use otherwise */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    span->kinds = 0;
    span->since_ms = now;
    span->side = pages_side % SIDES;
    span->ground = false;
    span->alone = !span->zero && span->units <= ALONE_UNITS && pages->alone < ALONE_MAX;
    if (span->alone) {
        store_relaxed(&span->state, SPAN_DIRTY);
        pages_link_locked(pages, span);
    } else {
        pages_release_locked(pages, span, span->zero ? SPAN_CLEAN : SPAN_DIRTY);
    }
    bool many = pages->dirty_units > DIRTY_MAX + pages->used_units / DIRTY_SHARE &&
                config.return_delay_ms != config_never;
    uint64_t oldest = span_at(pages->oldest)->since_ms;
    lock_give(&pages->lock);
    if (unlikely(many || config.return_delay_ms == 0))
        pages_return(pool_of(pages), config.return_delay_ms == 0 ? now : oldest);
}

bool pages_extend(struct span *span, uint32_t units)
{
    struct pages *pages = &pages_of[span->pool];
    bool done = false;
    lock_take(&pages->lock);
    struct span *next = free_at(pages, span->first + span->units, SPAN_DIRTY);
    if (next == NULL && !hold_refuses(units - span->units))
        next = free_at(pages, span->first + span->units, SPAN_CLEAN);
    if (next != NULL && span->units + next->units >= units) {
        enum span_state state = next->state;
        pages_unlink_locked(pages, next);
        store_relaxed(&next->state, SPAN_NONE);
        uint32_t more = units - span->units;
        if (next->units > more)
            cut_locked(pages, next, more, state);
        more = next->units;
        span->full &= next->full;
        span_give_locked(pages, next);
        span->units += more;
        span_set_units(span, false);
        add_relaxed(&pages->used_units, more);
        done = true;
    }
    lock_give(&pages->lock);
    return done;
}

void pages_shorten(struct span *span, uint32_t units, bool rest_zero)
{
    struct pages *pages = &pages_of[span->pool];
    lock_take(&pages->lock);
    uint32_t before = span->units;
    bool zero = span->zero;
    span->zero = rest_zero;
    span->since_ms = os_now_ms();
    span->side = pages_side % SIDES;
    span->ground = false;
    cut_locked(pages, span, units, rest_zero ? SPAN_CLEAN : SPAN_DIRTY);
    span->zero = zero;
    span_set_units(span, false);
    add_relaxed(&pages->used_units, -(size_t)(before - span->units));
    lock_give(&pages->lock);
}

void pages_lose(struct span *span)
{
    struct pages *pages = &pages_of[span->pool];
    lock_take(&pages->lock);
    add_relaxed(&pages->used_units, -(size_t)(span->units));
    store_relaxed(&span->state, SPAN_NONE);
    lock_give(&pages->lock);
}
