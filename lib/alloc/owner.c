/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/owner.h. Spans of an owner are as those of a centre, but for their length: they are
 * cut into at most OWNED_MAX blocks, so that the last word of their bits has room for the owner's
 * number, and full ones stand in a list, too.
 */
#include "lib/alloc/owner.h"

#include <string.h>

#include "lib/alloc/cut.h"
#include "lib/alloc/fatal.h"
#include "lib/alloc/held.h"

/* Blocks of a span: the fourth word of `span.bits` names the owner. */
enum { OWNED_MAX = 192, WORDS = OWNED_MAX / 64 };

static struct owner *all, *unused; /* under heap_lock */

struct owner *owner_first(void)
{
    return load_acquire(&all);
}

static struct owner *owner_fresh(void)
{
    struct owner *owner = meta_take(sizeof *owner);
    if (owner == NULL)
        return NULL;
    owner->lock.rank = LOCK_CENTRAL;
    lock_take(&heap_lock);
    owner->all = all;
    owner->alive = true;
    store_release(&all, owner);
    lock_give(&heap_lock);
    return owner;
}

struct owner *owner_new(void)
{
    lock_take(&heap_lock);
    struct owner *owner = unused;
    if (owner != NULL) {
        unused = owner->unused;
        owner->deleted = false;
        owner->alive = true;
        owner->tag = owner->large_allocs = owner->large_frees = owner->large_bytes = 0;
        owner->maker = NULL;
        owner->lend = NULL;
        if (owner->large_counts != NULL)
            memset(owner->large_counts, 0, LARGE_SIZES * sizeof(struct large_count));
    }
    lock_give(&heap_lock);
    return owner != NULL ? owner : owner_fresh();
}

static void list_add(uint32_t *head, struct span *span)
{
    span->prev = 0;
    span->next = *head;
    if (*head != 0)
        span_at(*head)->prev = span_id(span);
    *head = span_id(span);
}

static void list_remove(uint32_t *head, struct span *span)
{
    if (span->prev != 0)
        span_at(span->prev)->next = span->next;
    else
        *head = span->next;
    if (span->next != 0)
        span_at(span->next)->prev = span->prev;
}

static struct owned *list_of(struct owner *owner, const struct span *span)
{
    return &owner->lists[span->kinds & KIND_RECORDED ? OWNED_RECORDED : OWNED_PLAIN]
                        [mark_class(span->mark)];
}

/* A fresh span with all its blocks free. */
static struct span *span_make(struct owner *owner, unsigned pool, unsigned class, bool recorded,
                              uint32_t spans)
{
    const struct size_class *c = &size_classes[class];
    size_t units = cut_units(c, spans);
    while (units > c->units_min && sizes_blocks(c, units) > OWNED_MAX)
        units -= c->step;
    unsigned blocks = sizes_blocks(c, units);
    blocks = blocks < OWNED_MAX ? blocks : OWNED_MAX;
    void *records = NULL;
    if (recorded && (records = meta_take(blocks * sizeof(struct record))) == NULL)
        return NULL;
    struct span *span = pages_take(pages_node(pool), (uint32_t)units, c->step);
    if (span == NULL) {
        if (records != NULL)
            meta_give(records, blocks * sizeof(struct record));
        return NULL;
    }
    span->mark = (uint8_t) class;
    span->kinds = (uint8_t)(recorded ? KIND_OWNED | KIND_RECORDED : KIND_OWNED);
    span->taker = 0;
    span->home = HOME_OWNED;
    cut_begin(span, units, blocks, records, meta_id(owner));
    store_release(&span->state, SPAN_BLOCKS);
    return span;
}

bool owner_hold(const struct span *span)
{
    struct owner *owner = owner_of(span);
    if (owner == NULL || !lock_try(&owner->lock))
        return false;
    if (load_acquire(&span->state) == SPAN_BLOCKS && owner_of(span) == owner)
        return true;
    lock_give(&owner->lock);
    return false;
}

void owner_release(const struct span *span)
{
    lock_give(&owner_of(span)->lock);
}

/* Takes up to `wanted` blocks of one span; returns how many. */
static unsigned span_take(struct span *span, size_t size, void **slots, unsigned wanted)
{
    unsigned got = 0;
    for (unsigned i = 0; i < WORDS && got < wanted; i++) {
        uint64_t bits = span->bits[i];
        for (; bits != 0 && got < wanted; bits &= bits - 1)
            slots[got++] = span_start(span) + (i * 64 + (unsigned)__builtin_ctzll(bits)) * size;
        span->bits[i] = bits;
    }
    span->free = (uint16_t)(span->free - got);
    return got;
}

static unsigned take_locked(struct owner *owner, unsigned pool, unsigned class, unsigned list,
                            void **slots, unsigned wanted)
{
    struct owned *owned = &owner->lists[list][class];
    unsigned got = 0;
    while (got < wanted) {
        struct span *span = span_at(owned->some);
        if (owned->some == 0) {
            if (got > 0) /* enough: no new span for a fuller batch */
                break;
            span = span_make(owner, pool, class, list == OWNED_RECORDED, owned->spans);
            if (span == NULL)
                break;
            owned->spans++;
            owner->spans++;
            add_relaxed(&owned->made, 1);
            add_relaxed(&owned->here, span->blocks);
            list_add(&owned->some, span);
        }
        got += span_take(span, class_size(class), slots + got, wanted - got);
        if (span->free == 0) {
            list_remove(&owned->some, span);
            list_add(&owned->none, span);
        }
    }
    add_relaxed(&owned->out, got);
    add_relaxed(&owned->here, -got);
    held_add(got * class_size(class));
    return got;
}

unsigned owner_take(struct owner *owner, unsigned pool, unsigned class, unsigned list, void **slots,
                    unsigned wanted)
{
    lock_take(&owner->lock);
    unsigned got = take_locked(owner, pool, class, list, slots, wanted);
    add_relaxed(&owner->lists[list][class].fills, 1);
    lock_give(&owner->lock);
    return got;
}

void owner_count(struct owner *owner, unsigned class, unsigned list, uint64_t mallocs)
{
    __atomic_fetch_add(&owner->lists[list][class].mallocs, mallocs, __ATOMIC_RELAXED);
}

/* After the owner has no span and no handle any more. Its sums stay in those of ended heaps. */
static void put_away(struct owner *owner)
{
    lock_take(&heap_lock);
    for (unsigned list = 0; list < OWNED_LISTS; list++)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            heap_count_retired(class, owner->lists[list][class].mallocs);
            struct owned *owned = &owner->lists[list][class];
            store_relaxed(&owned->mallocs, 0);
            owned->fills = owned->flushes = owned->made = 0;
        }
    memset(&owner->elsewhere, 0, sizeof owner->elsewhere);
    owner->alive = false;
    owner->unused = unused;
    unused = owner;
    lock_give(&heap_lock);
}

/* One block back into its span. True if that was the last span of a deleted owner. */
static bool give_locked(struct owner *owner, struct span *span, void *block)
{
    struct owned *owned = list_of(owner, span);
    unsigned class = mark_class(span->mark), index = span_index(span, block, class);
    uint64_t *word = &span->bits[index / 64], bit = UINT64_C(1) << (index % 64);
    if (unlikely(index >= span->blocks || (*word & bit) != 0))
        fatal_freed_twice(block, class_size(class));
    *word |= bit;
    add_relaxed(&owned->here, 1);
    add_relaxed(&owned->out, -1);
    held_add(-(uint64_t)class_size(class));
    if (span->free++ == 0) {
        list_remove(&owned->none, span);
        list_add(&owned->some, span);
    }
    bool only = !owner->deleted && owned->some == span_id(span) && span->next == 0;
    if (span->free < span->blocks || (only && span->blocks > 1))
        return false;
    list_remove(&owned->some, span);
    owned->spans--;
    owner->spans--;
    add_relaxed(&owned->here, -(uint32_t)span->blocks);
    cut_end(span);
    return owner->deleted && owner->spans == 0;
}

void owner_give(void *const *slots, unsigned count)
{
    while (count > 0) {
        struct owner *owner = owner_of(span_of(slots[0]));
        bool last = false;
        lock_take(&owner->lock);
        add_relaxed(&list_of(owner, span_of(slots[0]))->flushes, 1);
        do {
            last |= give_locked(owner, span_of(slots[0]), slots[0]);
            slots++;
            count--;
        } while (count > 0 && owner_of(span_of(slots[0])) == owner);
        lock_give(&owner->lock);
        if (last)
            put_away(owner);
    }
}

/* Under the owner's lock. Without memory for the counts they stay behind. */
static void count_large(struct owner *owner, size_t bytes, uint64_t allocs, uint64_t frees)
{
    if (owner->large_counts == NULL)
        store_release(&owner->large_counts, meta_take(LARGE_SIZES * sizeof(struct large_count)));
    if (owner->large_counts == NULL)
        return;
    struct large_count *count = &owner->large_counts[large_size_index(bytes)];
    add_relaxed(&count->allocs, allocs);
    add_relaxed(&count->frees, frees);
}

void owner_add_large(struct owner *owner, struct span *span)
{
    lock_take(&owner->lock);
    store_relaxed(&span->owner, meta_id(owner));
    span->kinds |= KIND_OWNED;
    list_add(&owner->large, span);
    owner->spans++;
    add_relaxed(&owner->large_allocs, 1);
    add_relaxed(&owner->large_bytes, large_size(span));
    count_large(owner, large_size(span), 1, 0);
    lock_give(&owner->lock);
}

/* A large block is about to leave the list. */
static void large_ends(struct owner *owner, struct span *span)
{
    list_remove(&owner->large, span);
    span->kinds &= (uint8_t)~KIND_OWNED;
    add_relaxed(&owner->large_frees, 1);
    add_relaxed(&owner->large_bytes, -(uint64_t)large_size(span));
    count_large(owner, large_size(span), 0, 1);
}

void owner_resized_large(struct span *span, size_t before)
{
    struct owner *owner = owner_of(span);
    if (owner == NULL)
        return;
    lock_take(&owner->lock);
    add_relaxed(&owner->large_bytes, large_size(span) - before);
    add_relaxed(&owner->large_allocs, 1);
    add_relaxed(&owner->large_frees, 1);
    count_large(owner, before, 0, 1);
    count_large(owner, large_size(span), 1, 0);
    lock_give(&owner->lock);
}

void owner_remove_large(struct span *span)
{
    struct owner *owner = owner_of(span);
    if (owner == NULL)
        return;
    lock_take(&owner->lock);
    large_ends(owner, span);
    bool last = --owner->spans == 0 && owner->deleted;
    lock_give(&owner->lock);
    if (last)
        put_away(owner);
}

void owner_add_elsewhere(struct owner *owner, unsigned class, size_t bytes)
{
    struct owned_elsewhere *elsewhere = &owner->elsewhere;
    lock_take(&owner->lock);
    owner->spans++;
    elsewhere->live++;
    if (class < CLASS_COUNT) {
        add_relaxed(&elsewhere->mallocs[class], 1);
        add_relaxed(&elsewhere->lives[class], 1);
    } else {
        add_relaxed(&elsewhere->large_bytes, bytes);
        add_relaxed(&owner->large_allocs, 1);
        add_relaxed(&owner->large_bytes, bytes);
        count_large(owner, bytes, 1, 0);
    }
    lock_give(&owner->lock);
}

void owner_remove_elsewhere(struct owner *owner, unsigned class, size_t bytes)
{
    struct owned_elsewhere *elsewhere = &owner->elsewhere;
    lock_take(&owner->lock);
    elsewhere->live--;
    if (class < CLASS_COUNT) {
        add_relaxed(&elsewhere->lives[class], -UINT64_C(1));
    } else {
        add_relaxed(&elsewhere->large_bytes, -(uint64_t)bytes);
        add_relaxed(&owner->large_frees, 1);
        add_relaxed(&owner->large_bytes, -(uint64_t)bytes);
        count_large(owner, bytes, 0, 1);
    }
    bool last = --owner->spans == 0 && owner->deleted;
    lock_give(&owner->lock);
    if (last)
        put_away(owner);
}

/* The last free spans of each list are given back: they were kept for the next block. */
static void spare_spans_end(struct owner *owner)
{
    for (unsigned list = 0; list < OWNED_LISTS; list++)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            struct owned *owned = &owner->lists[list][class];
            for (uint32_t id = owned->some, next; id != 0; id = next) {
                struct span *span = span_at(id);
                next = span->next;
                if (span->free != span->blocks)
                    continue;
                list_remove(&owned->some, span);
                owned->spans--;
                owner->spans--;
                add_relaxed(&owned->here, -(uint32_t)span->blocks);
                cut_end(span);
            }
        }
}

void owner_delete(struct owner *owner)
{
    lock_take(&owner->lock);
    owner->deleted = true;
    spare_spans_end(owner);
    bool last = owner->spans == 0;
    lock_give(&owner->lock);
    if (last)
        put_away(owner);
}

void owner_end_begin(struct owner *owner)
{
    lock_take(&heap_lock);
    for (struct front *front = owner->fronts, *next; front != NULL; front = next) {
        next = front->sibling;
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            struct front_bin *bin = front->bins[class];
            if (bin == NULL)
                continue;
            owner_count(owner, class, OWNED_PLAIN, bin->mallocs);
            store_relaxed(&bin->count, 0);
        }
        store_relaxed(&front->id, 0);
        store_release(&front->owner, NULL);
    }
    owner->fronts = NULL;
    lock_give(&heap_lock);
}

static struct span *next_of_lists(struct owner *owner)
{
    for (unsigned list = 0; list < OWNED_LISTS; list++)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            struct owned *owned = &owner->lists[list][class];
            uint32_t *head = owned->some != 0 ? &owned->some : &owned->none;
            if (*head == 0)
                continue;
            struct span *span = span_at(*head);
            list_remove(head, span);
            owned->spans--;
            uint32_t out = (uint32_t)(span->blocks - span->free);
            add_relaxed(&owned->here, -(uint32_t)span->free);
            add_relaxed(&owned->out, -out);
            held_add(-(uint64_t)out * class_size(class));
            return span;
        }
    return NULL;
}

struct span *owner_end_next(struct owner *owner)
{
    lock_take(&owner->lock);
    struct span *span = next_of_lists(owner);
    if (span == NULL && owner->large != 0) {
        span = span_at(owner->large);
        large_ends(owner, span);
    }
    owner->spans -= span != NULL;
    lock_give(&owner->lock);
    return span;
}

void owner_end(struct owner *owner)
{
    put_away(owner);
}

void owner_sums(const struct owner *owner, struct owner_sum sums[CLASS_COUNT])
{
    memset(sums, 0, CLASS_COUNT * sizeof *sums);
    lock_take(&heap_lock);
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        for (unsigned list = 0; list < OWNED_LISTS; list++) {
            const struct owned *owned = &owner->lists[list][class];
            sums[class].mallocs += load_relaxed(&owned->mallocs);
            sums[class].live += load_relaxed(&owned->out);
            sums[class].here += load_relaxed(&owned->here);
            sums[class].spans += load_relaxed(&owned->spans);
            sums[class].fills += load_relaxed(&owned->fills);
            sums[class].flushes += load_relaxed(&owned->flushes);
            sums[class].made += load_relaxed(&owned->made);
        }
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        sums[class].mallocs += load_relaxed(&owner->elsewhere.mallocs[class]);
        sums[class].live += load_relaxed(&owner->elsewhere.lives[class]);
    }
    for (const struct front *front = owner->fronts; front != NULL; front = front->sibling)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            const struct front_bin *bin = load_acquire(&front->bins[class]);
            if (bin == NULL)
                continue;
            sums[class].mallocs += load_relaxed(&bin->mallocs);
            sums[class].cached += load_relaxed(&bin->count);
        }
    lock_give(&heap_lock);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct owner_sum *sum = &sums[class]; /* other threads go on meanwhile */
        sum->live -= sum->cached < sum->live ? sum->cached : sum->live;
        sum->mallocs = sum->mallocs < sum->live ? sum->live : sum->mallocs;
    }
    uint64_t ended = load_relaxed(&owner->large_frees);
    sums[0].mallocs = load_relaxed(&owner->large_allocs);
    sums[0].live = sums[0].spans = sums[0].mallocs - ended;
}

uint32_t owner_threads(const struct owner *owner)
{
    uint32_t threads = 0;
    lock_take(&heap_lock);
    for (const struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        threads += heap->alive && load_relaxed(&heap->default_owner) == owner;
    lock_give(&heap_lock);
    return threads;
}

bool owners_break(uint32_t parent_id)
{
    bool broken = false;
    for (struct owner *owner = all; owner != NULL; owner = owner->all)
        broken |= lock_break(&owner->lock, parent_id);
    return broken;
}

static void lists_clear(struct owner *owner)
{
    owner->spans = owner->elsewhere.live;
    owner->large = 0;
    store_relaxed(&owner->large_bytes, owner->elsewhere.large_bytes);
    for (unsigned list = 0; list < OWNED_LISTS; list++)
        for (unsigned class = 1; class < CLASS_COUNT; class ++) {
            struct owned *owned = &owner->lists[list][class];
            owned->some = owned->none = owned->spans = 0;
            store_relaxed(&owned->out, 0);
            store_relaxed(&owned->here, 0);
        }
}

/* A span into the lists of its owner, from its bits. */
static void relist(struct owner *owner, struct span *span)
{
    owner->spans++;
    if (span->state == SPAN_LARGE) {
        list_add(&owner->large, span);
        add_relaxed(&owner->large_bytes, (uint64_t)span->length << UNIT_SHIFT);
        return;
    }
    struct owned *owned = list_of(owner, span);
    unsigned here = 0;
    for (unsigned i = 0; i < WORDS; i++)
        here += (unsigned)__builtin_popcountll(span->bits[i]);
    span->free = (uint16_t)here;
    owned->spans++;
    add_relaxed(&owned->here, here);
    add_relaxed(&owned->out, (uint32_t)span->blocks - here);
    list_add(here > 0 ? &owned->some : &owned->none, span);
}

static bool is_owned(const struct span *span)
{
    uint8_t state = load_acquire(&span->state);
    return (state == SPAN_BLOCKS || state == SPAN_LARGE) && span->kinds & KIND_OWNED;
}

void owners_recover(void)
{
    for (struct owner *owner = all; owner != NULL; owner = owner->all)
        lists_clear(owner);
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids && all != NULL; id++)
        if (is_owned(span_at(id)))
            relist(owner_of(span_at(id)), span_at(id));
}

static uint64_t bytes_out(const struct owner *owner)
{
    uint64_t bytes = 0;
    for (unsigned list = 0; list < OWNED_LISTS; list++)
        for (unsigned class = 1; class < CLASS_COUNT; class ++)
            bytes += (uint64_t)owner->lists[list][class].out * class_size(class);
    return bytes;
}

void owners_repair(bool give)
{
    for (struct owner *owner = owner_first(); owner != NULL; owner = owner->all) {
        if (!lock_is_own(&owner->lock))
            continue;
        uint64_t before = bytes_out(owner);
        lists_clear(owner);
        uint32_t ids = span_count();
        for (uint32_t id = 1; id < ids; id++)
            if (is_owned(span_at(id)) && owner_of(span_at(id)) == owner)
                relist(owner, span_at(id));
        held_add(bytes_out(owner) - before);
        if (give)
            lock_give(&owner->lock);
    }
}
