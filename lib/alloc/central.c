/* SPDX-License-Identifier: MIT */
/* See lib/alloc/central.h. */
#include "lib/alloc/central.h"

#include "base/os.h"
#include "lib/alloc/fatal.h"
#include "lib/alloc/meta.h"

static struct central first_pool[CENTRAL_COUNT];
static struct central *centrals[POOL_MAX] = {first_pool};

static void pool_init(struct central *list)
{
    for (unsigned i = 0; i < CENTRAL_COUNT; i++)
        list[i].lock.rank = LOCK_CENTRAL;
}

void central_init(void)
{
    pool_init(first_pool);
}

const struct central *central_peek(unsigned pool, unsigned list)
{
    const struct central *all = load_acquire(&centrals[pool]);
    return all == NULL ? NULL : &all[list];
}

static struct central *central_of(unsigned pool, unsigned list)
{
    struct central *all = load_acquire(&centrals[pool]);
    if (unlikely(all == NULL)) {
        size_t bytes = sizeof(struct central) * CENTRAL_COUNT;
        struct central *mine = meta_take(bytes);
        if (mine == NULL)
            return central_of(0, list);
        pool_init(mine);
        if (__atomic_compare_exchange_n(&centrals[pool], &all, mine, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            all = mine;
        else
            meta_give(mine, bytes);
    }
    return &all[list];
}

static unsigned list_of(const struct span *span)
{
    return span->watched ? CENTRAL_WATCHED + mark_class(span->mark) : span->mark;
}

static void list_add(struct central *central, struct span *span)
{
    span->prev = 0;
    span->next = central->head;
    if (central->head != 0)
        span_at(central->head)->prev = span_id(span);
    central->head = span_id(span);
    span->listed = true;
}

static void list_remove(struct central *central, struct span *span)
{
    if (span->prev != 0)
        span_at(span->prev)->next = span->next;
    else
        central->head = span->next;
    if (span->next != 0)
        span_at(span->next)->prev = span->prev;
    span->listed = false;
}

/* A fresh span, cut into blocks, all of them free. */
static struct span *span_make(unsigned pool, unsigned mark, bool watched)
{
    unsigned class = mark_class(mark);
    const struct size_class *c = &size_classes[class];
    void *records = NULL;
    if (watched && (records = meta_take(c->blocks * sizeof(uint32_t))) == NULL)
        return NULL;
    struct span *span = pages_take(pool, c->units, 1);
    if (span == NULL) {
        if (records != NULL)
            meta_give(records, c->blocks * sizeof(uint32_t));
        return NULL;
    }
    span->mark = (uint8_t)mark;
    span->watched = watched;
    span->record = records == NULL ? 0 : meta_id(records);
    span->blocks = span->free = c->blocks;
    for (unsigned i = 0; i < COUNT_OF(span->bits); i++) {
        unsigned rest = c->blocks > i * 64 ? c->blocks - i * 64 : 0;
        span->bits[i] = rest >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << rest) - 1;
    }
    span_set_units(span, true);
    store_release(&span->state, SPAN_BLOCKS);
    return span;
}

static void span_end(struct span *span)
{
    if (span->watched)
        meta_give(meta_at(span->record), span->blocks * sizeof(uint32_t));
    pages_give(span);
}

/* Takes up to `wanted` blocks of one span, lowest first. */
static unsigned span_take(struct span *span, unsigned class, void **slots, unsigned wanted)
{
    size_t size = class_size(class);
    char *start = span_start(span);
    unsigned got = 0;
    for (unsigned word = 0; word < COUNT_OF(span->bits) && got < wanted; word++) {
        uint64_t bits = span->bits[word];
        char *base = start + word * 64 * size;
        while (bits != 0 && got < wanted) {
            slots[got++] = base + (unsigned)__builtin_ctzll(bits) * size;
            bits &= bits - 1;
        }
        span->bits[word] = bits;
    }
    span->free = (uint16_t)(span->free - got);
    return got;
}

static unsigned take_locked(struct central *central, unsigned pool, unsigned mark, bool watched,
                            void **slots, unsigned wanted)
{
    unsigned got = 0;
    while (got < wanted) {
        struct span *span = span_at(central->head);
        if (central->head == 0) {
            if (got > 0) /* enough for now: do not map memory for a fuller batch */
                break;
            span = span_make(pool, mark, watched);
            if (span == NULL)
                break;
            central->spans++;
            central->here += span->blocks;
            list_add(central, span);
        }
        got += span_take(span, mark_class(mark), slots + got, wanted - got);
        if (span->free == 0)
            list_remove(central, span);
    }
    central->out += got;
    central->here -= got;
    return got;
}

unsigned central_take(unsigned pool, unsigned mark, void **slots, unsigned wanted)
{
    struct central *central = central_of(pool, mark);
    lock_take(&central->lock);
    unsigned got = take_locked(central, pool, mark, false, slots, wanted);
    lock_give(&central->lock);
    return got;
}

void *central_take_watched(unsigned pool, unsigned class)
{
    struct central *central = central_of(pool, CENTRAL_WATCHED + class);
    void *block = NULL;
    lock_take(&central->lock);
    central->taken += take_locked(central, pool, class, true, &block, 1);
    lock_give(&central->lock);
    return block;
}

uint32_t *central_record(struct span *span, const void *block)
{
    if (span->state == SPAN_LARGE)
        return &span->record;
    uint32_t *records = meta_at(span->record);
    return &records[span_index(span, block, mark_class(span->mark))];
}

/* A span that became all free. */
static void span_emptied(struct central *central, struct span *span)
{
    bool only = span->next == 0 && span->prev == 0;
    if (only && span->units < units_of(MIDDLE_MAX))
        return;
    list_remove(central, span);
    central->spans--;
    central->here -= span->blocks;
    span_end(span);
}

/* Blocks back into their spans, as long as they are of this list; how many. */
static unsigned give_locked(struct central *central, unsigned list, unsigned pool,
                            void *const *slots, unsigned count)
{
    unsigned class = list >= CENTRAL_WATCHED ? list - CENTRAL_WATCHED : mark_class(list);
    unsigned done = 0;
    for (; done < count; done++) {
        struct span *span = span_of(slots[done]);
        if (unlikely(list_of(span) != list || span->pool != pool))
            break;
        unsigned index = span_index(span, slots[done], class);
        uint64_t *word = &span->bits[index / 64], bit = UINT64_C(1) << (index % 64);
        if (unlikely(*word & bit))
            fatal_freed_twice(slots[done], class_size(class));
        *word |= bit;
        if (unlikely(!span->listed))
            list_add(central, span);
        if (unlikely(++span->free == span->blocks))
            span_emptied(central, span);
    }
    return done;
}

void central_give(void *const *slots, unsigned count)
{
    while (count > 0) {
        struct span *span = span_of(slots[0]);
        unsigned list = list_of(span), pool = span->pool;
        struct central *central = central_of(pool, list);
        lock_take(&central->lock);
        unsigned done = give_locked(central, list, pool, slots, count);
        central->out -= done;
        central->here += done;
        lock_give(&central->lock);
        slots += done;
        count -= done;
    }
}

bool central_break(uint32_t parent_id)
{
    bool broken = false;
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        for (unsigned i = 0; centrals[pool] != NULL && i < CENTRAL_COUNT; i++)
            broken |= lock_break(&centrals[pool][i].lock, parent_id);
    return broken;
}

void central_recover(void)
{
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        for (unsigned i = 0; centrals[pool] != NULL && i < CENTRAL_COUNT; i++) {
            struct central *central = &centrals[pool][i];
            central->head = central->spans = 0;
            central->out = central->here = 0;
        }
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        struct span *span = span_at(id);
        if (span->state != SPAN_BLOCKS)
            continue;
        struct central *central = central_of(span->pool, list_of(span));
        unsigned here = 0;
        for (unsigned i = 0; i < COUNT_OF(span->bits); i++)
            here += (unsigned)__builtin_popcountll(span->bits[i]);
        span->free = (uint16_t)here;
        span->listed = false;
        central->spans++;
        central->here += here;
        central->out += span->blocks - here;
        if (here > 0)
            list_add(central, span);
    }
}
