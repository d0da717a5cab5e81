/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/central.h. A centre is a list of spans with free blocks. Blocks are taken from its
 * first span, in the order of addresses from either end, so that blocks that one thread takes lie
 * side by side. A batch that comes back is cut into runs of blocks of one centre, and each run is
 * given under one lock.
 */
#include "lib/alloc/central.h"

#include <string.h>

#include "base/os.h"
#include "lib/alloc/cut.h"
#include "lib/alloc/fatal.h"
#include "lib/alloc/held.h"
#include "lib/alloc/parcel.h"
#include "lib/alloc/tail.h"
#include "lib/window/window.h"

enum {
    LOOK_MAX = 8, /* spans of a list that are looked at for the thread's own */
    /* Free blocks that may lie in spans of other threads while a thread takes a new one: */
    APART_BYTES = 4 << 10,    /* this many bytes for each thread, */
    APART_BLOCKS = 16,        /* or this many blocks if that is more, */
    APART_SHARE = 16,         /* and one in this many of those in use; */
    APART_FRESH = 32 << 10,   /* bytes for each thread that were never in use */
    HARDENED_KEPT = 64 << 10, /* with `harden`: free bytes for which an all free span is kept */
    WATCHED_SHARE = 2048,     /* a list of watched blocks keeps an all free span of one in this many
                                 bytes in use: a list for each class, of which most lie idle */
};

static uint64_t spans_made;

static void parcels_open(struct central *central);
static void leave(struct central *central);

BULK static struct central first_pool[CENTRAL_COUNT];
static struct central *centrals[POOL_MAX] = {first_pool};

const struct central *central_peek(unsigned pool, unsigned list)
{
    const struct central *all = load_acquire(&centrals[pool]);
    return all == NULL ? NULL : &all[list];
}

bool central_busy(unsigned pool, unsigned list)
{
    const struct central *central = central_peek(pool, list);
    return central != NULL && load_relaxed(&central->lock.word) != 0;
}

/* Without memory for the lists of a pool it is served by the first one: *pool says so, since spans
 * must know whose list they are in. */
static struct central *central_of(unsigned *pool, unsigned list)
{
    struct central *all = load_acquire(&centrals[*pool]);
    if (unlikely(all == NULL)) {
        size_t bytes = sizeof(struct central) * CENTRAL_COUNT;
        struct central *mine = meta_take(bytes);
        if (mine == NULL) {
            *pool = 0;
            all = first_pool;
        } else if (__atomic_compare_exchange_n(&centrals[*pool], &all, mine, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            all = mine;
        } else {
            meta_give(mine, bytes);
        }
    }
    struct central *central = &all[list];
    if (unlikely(load_relaxed(&central->lock.rank) != LOCK_CENTRAL))
        store_relaxed(&central->lock.rank, LOCK_CENTRAL); /* all zero until it is used */
    return central;
}

/* A list of a pool as one number, kept in the span. */
static uint16_t home_make(unsigned pool, unsigned list)
{
    return (uint16_t)(pool << 8 | list);
}

static unsigned home_class(uint16_t home)
{
    unsigned list = home & 255;
    return mark_class(list >= CENTRAL_WATCHED ? list - CENTRAL_WATCHED : list);
}

static struct central *home_of(uint16_t home)
{
    return &load_acquire(&centrals[home >> 8])[home & 255];
}

static uint32_t *list_of(struct central *central, const struct span *span)
{
    return &central->heads[span->taker % CENTRAL_HEADS];
}

static void list_add(struct central *central, struct span *span)
{
    uint32_t *head = list_of(central, span);
    span->prev = 0;
    span->next = *head;
    if (*head != 0)
        span_at(*head)->prev = span_id(span);
    *head = span_id(span);
}

static void list_remove(struct central *central, struct span *span)
{
    if (span->prev != 0)
        span_at(span->prev)->next = span->next;
    else
        *list_of(central, span) = span->next;
    if (span->next != 0)
        span_at(span->next)->prev = span->prev;
}

/* A fresh span, cut into blocks, all of them free. */
static struct span *span_make(unsigned pool, unsigned mark, bool watched, uint32_t spans)
{
    unsigned class = mark_class(mark);
    const struct size_class *c = &size_classes[class];
    size_t units = cut_units(c, spans);
    unsigned blocks = sizes_blocks(c, units);
    void *records = NULL;
    if (watched && (records = meta_take(blocks * sizeof(struct record))) == NULL)
        return NULL;
    struct span *span = pages_take(pages_node(pool), (uint32_t)units, c->step);
    if (span == NULL) {
        if (records != NULL)
            meta_give(records, blocks * sizeof(struct record));
        return NULL;
    }
    span->mark = (uint8_t)mark;
    span->kinds = watched ? KIND_RECORDED : 0;
    span->home = home_make(pool, watched ? CENTRAL_WATCHED + class : mark);
    cut_begin(span, units, blocks, records, 0);
    store_release(&span->state, SPAN_BLOCKS);
    __atomic_fetch_add(&spans_made, 1, __ATOMIC_RELAXED);
    return span;
}

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Takes up to `wanted` blocks of one span, lowest first; returns how many. */
static unsigned take_of_span(struct central *central, struct span *span, void **end,
                             unsigned wanted)
{
    unsigned count = min(wanted, span->free), fresh = cut_fresh(span);
    cut_take(span, end, count);
    central->fresh -= fresh - cut_fresh(span);
    return count;
}

/* A span with free blocks that the calling thread's side has. */
static struct span *own_locked(const struct central *central)
{
    uint32_t id = central->heads[pages_side % CENTRAL_HEADS];
    for (int i = 0; id != 0 && i < LOOK_MAX; i++, id = span_at(id)->next)
        if (span_at(id)->taker == pages_side)
            return span_at(id);
    return NULL;
}

/* One that any side has. If it is mostly free, it is the calling thread's from now on. */
static struct span *any_locked(struct central *central, bool change)
{
    unsigned i = 0;
    while (i < CENTRAL_HEADS && central->heads[i] == 0)
        i++;
    if (i == CENTRAL_HEADS)
        return NULL;
    struct span *span = span_at(central->heads[i]);
    if (change && span->free >= span->blocks / 2) {
        list_remove(central, span);
        span->taker = pages_side;
        list_add(central, span);
    }
    return span;
}

/* Whether spans of other sides have enough free blocks for a thread without one to take from them.
 */
static bool others_have_enough(const struct central *central, size_t size)
{
    size_t threads = load_relaxed(&pages_threads) + 1, fresh = central->fresh * size;
    size_t each = APART_BLOCKS * size > APART_BYTES ? APART_BLOCKS * size : APART_BYTES;
    size_t max = threads * each + central->out * size / APART_SHARE;
    return central->here * size - fresh > max || fresh > threads * APART_FRESH;
}

/* A span to take from. NULL: memory is out, or what the caller has is enough and only a span of
 * others, or a new one, has more. */
static struct span *span_for(struct central *central, unsigned pool, unsigned mark, bool watched,
                             bool enough)
{
    bool apart = pages_apart();
    struct span *span = apart ? own_locked(central) : any_locked(central, false);
    if (span != NULL || enough)
        return span;
    if (apart && others_have_enough(central, class_size(mark_class(mark))))
        span = any_locked(central, true);
    if (span == NULL && (span = span_make(pool, mark, watched, central->spans)) != NULL) {
        span->taker = apart ? pages_side : 0;
        central->spans++;
        add_relaxed(&central->made, 1);
        central->fresh += cut_fresh(span);
        add_relaxed(&central->here, span->blocks);
        list_add(central, span);
    }
    return span != NULL ? span : any_locked(central, false);
}

static unsigned take_locked(struct central *central, unsigned pool, unsigned list, void **slots,
                            unsigned wanted)
{
    bool watched = list >= CENTRAL_WATCHED;
    unsigned got = 0, mark = watched ? list - CENTRAL_WATCHED : list, class = mark_class(mark);
    size_t size = class_size(class);
    if (unlikely(load_relaxed(&central->parcels) != 0))
        parcels_open(central);
    while (got < wanted) {
        bool enough = got > wanted / 2; /* no new span for a fuller batch */
        struct span *span = span_for(central, pool, mark, watched, enough);
        if (span == NULL)
            break;
        got += take_of_span(central, span, slots + wanted - got, wanted - got);
        if (span->free == 0)
            list_remove(central, span);
    }
    add_relaxed(&central->out, got);
    add_relaxed(&central->here, -(size_t)got);
    held_add(got * size);
    return got;
}

/* A list to take from, locked: that of the pool, or, where threads queue up for it, of another pool
 * of the same node. */
static struct central *enter(unsigned *pool, unsigned list)
{
    struct central *own = central_of(pool, list);
    if (likely(lock_take_uncrowded(&own->lock)))
        return own;
    for (unsigned i = load_relaxed(&pages_nodes), next = i; next < POOL_MAX; next += i) {
        unsigned other = (*pool + next) % POOL_MAX;
        struct central *central = central_of(&other, list);
        if (central != own && lock_take_uncrowded(&central->lock)) {
            *pool = other;
            return central;
        }
    }
    lock_take(&own->lock);
    return own;
}

unsigned central_take(unsigned pool, unsigned list, void **slots, unsigned wanted)
{
    struct central *central = enter(&pool, list);
    unsigned got = take_locked(central, pool, list, slots, wanted);
    add_relaxed(&central->fills, 1);
    leave(central);
    return got;
}

void *central_take_one(unsigned pool, unsigned list)
{
    struct central *central = enter(&pool, list);
    void *block = NULL;
    unsigned got = take_locked(central, pool, list, &block, 1);
    add_relaxed(&central->direct, got);
    leave(central);
    return block;
}

static void *take_left(unsigned pool, unsigned list)
{
    const struct central *central = central_peek(pool, list);
    bool has = central != NULL &&
               (load_relaxed(&central->here) > 0 || load_relaxed(&central->parcels) != 0);
    return has ? central_take_one(pool, list) : NULL;
}

void *central_take_left(unsigned class)
{
    void *block = NULL;
    for (unsigned pool = 0; pool < POOL_MAX && block == NULL; pool++) {
        block = take_left(pool, CENTRAL_WATCHED + class);
        for (unsigned colour = 0; colour < COLOURS && block == NULL; colour++)
            block = take_left(pool, mark_make(class, colour));
    }
    return block;
}

struct record *central_record(struct span *span, const void *block)
{
    struct record *records = meta_at(span->record);
    if (!(span->kinds & KIND_RECORDED))
        return NULL;
    if (span->state == SPAN_LARGE)
        return records;
    return &records[span_index(span, block, mark_class(span->mark))];
}

bool central_hold(const struct span *span)
{
    uint16_t home = load_relaxed(&span->home);
    if (home == 0 || home == HOME_OWNED || !lock_try(&home_of(home)->lock))
        return false;
    if (load_acquire(&span->state) == SPAN_BLOCKS && load_relaxed(&span->home) == home)
        return true;
    leave(home_of(home));
    return false;
}

void central_release(const struct span *span)
{
    leave(home_of(span->home));
}

/* Whether memory for a span that is only rarely used is worth its while. */
static bool is_cheap(const struct span *span)
{
    size_t used = load_relaxed(&pages_of[pages_node(span->home >> 8)].used_units);
    return !(span->kinds & KIND_RECORDED) || span->units <= used / WATCHED_SHARE;
}

/* A span that became all free. A short one that is the only one stays: giving a page away and
 * taking it again at every turn would cost more, and a second free of its block would find another
 * there. */
static void span_emptied(struct central *central, struct span *span)
{
    const struct size_class *c = &size_classes[mark_class(span->mark)];
    bool only = span->next == 0 && span->prev == 0;
    if (harden_on && central->here * c->size <= HARDENED_KEPT)
        return; /* a call of the kernel's less */
    if (only && 2 * c->size <= UNIT && span->units == c->units_min + harden_units && is_cheap(span))
        return;
    list_remove(central, span);
    central->spans--;
    add_relaxed(&central->here, -(size_t)span->blocks);
    central->fresh -= cut_fresh(span);
    cut_end(span);
}

/* `more` of the span's blocks are here again. */
static void span_gained(struct central *central, struct span *span, unsigned more)
{
    unsigned before = span->free, free = before + more;
    span->free = (uint16_t)free;
    add_relaxed(&central->here, more); /* first: a concurrent reader never sees an underflow */
    if (before == 0)
        list_add(central, span);
    if (unlikely(free == span->blocks))
        span_emptied(central, span);
}

/* How many of the slots, `max` at most, hold one block after the other upwards in memory. */
static unsigned run_length(void *const *slots, unsigned max, size_t size)
{
    unsigned run = 1;
    while (run < max && (char *)slots[run] == (char *)slots[run - 1] + size)
        run++;
    return run;
}

/* Blocks back into their spans, as long as they are of this list; returns how many. Neighbours tend
 * to be freed together, so the span is looked up only when it is another one, and rows of blocks in
 * the order of memory are one step. */
static unsigned give_locked(struct central *central, uint16_t home, unsigned class,
                            void *const *slots, unsigned count)
{
    const uint32_t inverse = size_classes[class].inverse;
    const size_t size = class_size(class);
    struct span *span = NULL;
    uintptr_t start = 0, bytes = 0; /* of the blocks of that span */
    unsigned done = 0, since = 0;   /* since: the first that is not counted in it yet */
    while (done < count) {
        uintptr_t place = (uintptr_t)slots[done] - start;
        if (unlikely(place >= bytes)) {
            struct span *other = span_of(slots[done]);
            if (since < done)
                span_gained(central, span, done - since);
            since = done;
            if (unlikely(other->home != home))
                return done;
            span = other;
            start = (uintptr_t)span_start(span);
            bytes = span->blocks * size;
            place = (uintptr_t)slots[done] - start;
            if (unlikely(place >= bytes))
                fatal_freed_twice(slots[done], size);
        }
        unsigned index = (unsigned)((place >> GRANULE_SHIFT) * inverse >> 31), run = 1;
        uint64_t *word = &span->bits[index / 64], bits = UINT64_C(1) << (index % 64);
        if (done + 1 < count && (char *)slots[done + 1] == (char *)slots[done] + size) {
            unsigned max = min(count - done, min(span->blocks - index, 64 - index % 64));
            run = run_length(slots + done, max, size);
            bits = ~UINT64_C(0) >> (64 - run) << (index % 64);
        }
        if (unlikely(*word & bits))
            fatal_freed_twice(slots[done], size);
        *word |= bits;
        done += run;
    }
    if (since < done)
        span_gained(central, span, done - since);
    return done;
}

/* Those of the first block's list, which is `central`; returns how many. */
static unsigned come_home(struct central *central, void *const *slots, unsigned count)
{
    const struct span *span = span_of(slots[0]);
    unsigned class = mark_class(span->mark);
    unsigned done = give_locked(central, span->home, class, slots, count);
    add_relaxed(&central->out, -(size_t)done);
    add_relaxed(&central->flushes, 1);
    held_add(-(uint64_t)done * class_size(class));
    return done;
}

static void parcels_open(struct central *central)
{
    for (struct parcel *parcel; (parcel = parcels_take(&central->parcels)) != NULL;) {
        come_home(central, parcel->blocks, parcel->count);
        parcel_end(parcel);
    }
}

/* A parcel that came while the lock was taken is not left behind: the thread that added it tries
 * for the lock afterwards, the one that had the lock looks for parcels after it gave it. */
static void parcels_look(struct central *central)
{
    while (unlikely(__atomic_load_n(&central->parcels, __ATOMIC_SEQ_CST) != 0) &&
           lock_try(&central->lock)) {
        parcels_open(central);
        lock_give(&central->lock);
    }
}

static void leave(struct central *central)
{
    lock_give(&central->lock);
    parcels_look(central);
}

/* Leaves blocks of the first one's list in parcels; returns how many. */
static unsigned leave_parcels(struct central *central, void *const *slots, unsigned count)
{
    unsigned same = 1;
    while (same < count && span_of(slots[same])->home == span_of(slots[0])->home)
        same++;
    unsigned done = parcels_add(&central->parcels, slots, same);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    parcels_look(central);
    return done;
}

void central_give(void *const *slots, unsigned count)
{
    while (count > 0) {
        const struct span *span = span_of(slots[0]);
        struct central *central = home_of(span->home);
        if (unlikely(span->home == 0))
            fatal_freed_twice(slots[0], class_size(mark_class(span->mark)));
        unsigned done = 0;
        if (unlikely(!lock_take_awake(&central->lock))) {
            done = leave_parcels(central, slots, count);
            if (done == 0)
                lock_take(&central->lock);
        }
        if (done == 0) {
            done = come_home(central, slots, count);
            leave(central);
        }
        slots += done;
        count -= done;
    }
}

uint64_t central_spans_made(void)
{
    return load_relaxed(&spans_made);
}

bool central_break(uint32_t parent_id)
{
    bool broken = false;
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        for (unsigned i = 0; centrals[pool] != NULL && i < CENTRAL_COUNT; i++)
            broken |= lock_break(&centrals[pool][i].lock, parent_id);
    return broken;
}

/* A list and its sums, from the bits of its spans: one span. */
static void relist_span(struct central *central, struct span *span)
{
    unsigned here = 0;
    for (unsigned i = 0; i < COUNT_OF(span->bits); i++)
        here += (unsigned)__builtin_popcountll(span->bits[i]);
    span->free = (uint16_t)here;
    central->spans++;
    central->fresh += cut_fresh(span);
    add_relaxed(&central->here, here);
    add_relaxed(&central->out, span->blocks - here);
    if (here > 0)
        list_add(central, span);
}

static void list_clear(struct central *central)
{
    memset(central->heads, 0, sizeof central->heads);
    central->spans = 0;
    central->fresh = 0;
    store_relaxed(&central->out, 0);
    store_relaxed(&central->here, 0);
}

void central_recover(void)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        for (unsigned i = 0; centrals[pool] != NULL && i < CENTRAL_COUNT; i++)
            list_clear(&centrals[pool][i]);
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        struct span *span = span_at(id);
        if (span->state == SPAN_BLOCKS && span->home != HOME_OWNED)
            relist_span(home_of(span->home), span);
    }
}

/* Other threads go on: only spans of this list have its lock. */
static void relist_locked(struct central *central, uint16_t home)
{
    size_t size = class_size(home_class(home)), before = central->out;
    list_clear(central);
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        struct span *span = span_at(id);
        if (load_acquire(&span->state) == SPAN_BLOCKS && load_relaxed(&span->home) == home)
            relist_span(central, span);
    }
    held_add((central->out - before) * size);
}

void central_repair(bool give)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++) {
        struct central *all = load_acquire(&centrals[pool]);
        for (unsigned i = 0; all != NULL && i < CENTRAL_COUNT; i++)
            if (lock_is_own(&all[i].lock)) {
                relist_locked(&all[i], home_make(pool, i));
                if (give)
                    leave(&all[i]);
            }
    }
}
