/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/table.h. Adding a key: take a number, fill in its entry, then put the number into a
 * slot of the newest index with one compare-and-swap; that publishes the entry. A thread that loses
 * the race for a key uses the winner's number, and its own entry stays unused. Nothing is ever
 * removed or moved but copies of index slots, so a reader needs no protection.
 */
#include "lib/watch/table.h"

#include "base/os.h"

enum {
    INDEX_SHIFT = 8,    /* the first index has 256 slots: 2 KiB for a program with few stacks */
    INDEX_STEP = 2,     /* each is 4 times as long: all copies add up to a third of the last one */
    HUGE_MIN = 2 << 20, /* an index of this length is worth a huge page, the size of one */
};
static const size_t NO_SLOT = SIZE_MAX;

static uint64_t bytes_taken;

uint64_t table_bytes(void)
{
    return load_relaxed(&bytes_taken);
}

uint32_t table_count(const struct table *table)
{
    return load_acquire(&table->count);
}

static uint64_t hash_of(uint64_t a, uint32_t b)
{
    uint64_t x = hash_word(a ^ (uint64_t)b << 40 ^ b);
    return (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static unsigned index_shift(unsigned number)
{
    return INDEX_SHIFT + number * INDEX_STEP;
}

/* How much memory all tables may have, and whether to wait for it. */
struct limit {
    uint64_t max;
    bool wait;
};

/* Takes memory that is never given back and stores its id in *place if that is still 0. */
static bool memory_make(uint32_t *place, size_t bytes, struct limit limit)
{
    if (load_relaxed(&bytes_taken) + bytes > limit.max)
        return false;
    void *memory = limit.wait ? meta_take(bytes) : meta_take_now(bytes);
    if (memory == NULL)
        return false;
    if (bytes >= HUGE_MIN) /* lookups are at random addresses */
        os_huge(memory, bytes, true);
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(place, &none, meta_id(memory), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        __atomic_fetch_add(&bytes_taken, bytes, __ATOMIC_RELAXED);
    else if (limit.wait)
        meta_give(
            memory,
            bytes); /* another thread stored its memory first; a handler can't wait to say so */
    return true;
}

/* A new number whose entry has memory; 0 if memory is out. */
static uint32_t number_take(struct table *table, struct limit limit)
{
    uint32_t id = load_relaxed(&table->count);
    do {
        uint32_t slab = id >> table->slab_shift;
        if (slab >= TABLE_SLABS)
            return 0;
        if (load_acquire(&table->slabs[slab]) == 0 &&
            !memory_make(&table->slabs[slab], (size_t)table->entry_bytes << table->slab_shift,
                         limit))
            return 0;
    } while (!__atomic_compare_exchange_n(&table->count, &id, id + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return id;
}

/* What an index holds for an entry: its number and part of its hash. The hash tells entries apart
 * without reading them, and gives the entry's slot in any index. */
static uint64_t slot_of(uint64_t hash, uint32_t id)
{
    return hash >> 32 << 32 | id;
}

static uint64_t *index_at(const struct table *table, unsigned number)
{
    return meta_at(load_acquire(&table->indexes[number]));
}

/* Copies an index into the next one. Cost: reads and writes both from start to end, because the
 * hash decides on the slot. Any number of threads may do it together. */
static NOINLINE void index_move(struct table *table, uint32_t from)
{
    const uint64_t *old = index_at(table, from);
    uint64_t *index = index_at(table, from + 1);
    unsigned shift = index_shift(from + 1);
    size_t mask = ((size_t)1 << shift) - 1;
    for (size_t i = 0; i < (size_t)1 << index_shift(from); i++) {
        uint64_t slot = load_acquire(&old[i]), there = 0;
        size_t at = slot >> (64 - shift), looked = slot == 0 ? mask + 1 : 0;
        for (; looked <= mask; looked++, at = (at + 1) & mask) {
            if (__atomic_compare_exchange_n(&index[at], &there, slot, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED) ||
                there == slot)
                break;
            there = 0;
        }
    }
    __atomic_compare_exchange_n(&table->moved, &from, from + 1, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

/* The newest index; adds a longer one first if it is three quarters full. NULL if memory is out. */
static uint64_t *index_newest(struct table *table, unsigned *number, struct limit limit)
{
    for (;;) { /* repeats only if another thread has added an index */
        *number = load_acquire(&table->newest);
        if (load_acquire(&table->indexes[*number]) == 0 &&
            !memory_make(&table->indexes[*number], sizeof(uint64_t) << index_shift(*number), limit))
            return NULL;
        size_t size = (size_t)1 << index_shift(*number), count = load_relaxed(&table->count);
        bool full = count >= size - size / 8;
        if (unlikely(full) && load_acquire(&table->moved) < *number)
            index_move(table, *number - 1); /* the thread that started it is slow or has exited */
        if (count >= size - size / 4 && *number + 1 < TABLE_INDEXES &&
            load_acquire(&table->moved) == *number &&
            memory_make(&table->indexes[*number + 1], sizeof(uint64_t) << index_shift(*number + 1),
                        limit)) {
            uint32_t expected = *number;
            if (__atomic_compare_exchange_n(&table->newest, &expected, *number + 1, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                index_move(table, *number);
            ++*number;
            return index_at(table, *number);
        }
        if (likely(!full))
            return index_at(table, *number);
        if (load_acquire(&table->newest) == *number)
            return NULL;
    }
}

void table_recover(struct table *table)
{
    if (table->moved != table->newest)
        index_move(table, table->moved);
}

static bool is(const struct table *table, uint32_t id, uint64_t a, uint32_t b)
{
    const struct table_entry *entry = table_at(table, id);
    return load_relaxed(&entry->a) == a && entry->b == b;
}

/* The number of the key in one index, or 0. *slot is the slot where it is or would be. A nearly
 * full index takes no more entries, but many threads at once may get past that check: NO_SLOT. */
static uint32_t look(const struct table *table, unsigned number, uint64_t hash, uint64_t a,
                     uint32_t b, size_t *slot)
{
    const uint64_t *index = index_at(table, number);
    unsigned shift = index_shift(number);
    size_t mask = ((size_t)1 << shift) - 1;
    size_t at = hash >> (64 - shift);
    for (size_t looked = 0; looked <= mask; looked++, at = (at + 1) & mask) {
        uint64_t there = load_acquire(&index[at]);
        *slot = at;
        if (there == 0)
            return 0;
        if (there >> 32 == hash >> 32 && is(table, (uint32_t)there, a, b))
            return (uint32_t)there;
    }
    *slot = NO_SLOT;
    return 0;
}

INLINE uint32_t add(struct table *table, uint64_t a, uint32_t b, struct limit limit, bool *fresh)
{
    uint64_t hash = hash_of(a, b);
    size_t slot;
    uint32_t id = 0;
    *fresh = false;
    unsigned number = load_acquire(&table->newest);
    if (likely(load_relaxed(&table->indexes[number]) != 0))
        id = look(table, number, hash, a, b, &slot);
    if (likely(id != 0))
        return id;
    uint64_t *index = index_newest(table, &number, limit);
    if (unlikely(load_acquire(&table->moved) < number))
        id = look(table, number - 1, hash, a, b, &slot);
    if (index == NULL)
        return id;
    bool found = id != 0;
    if (!found) {
        if ((id = number_take(table, limit)) == 0)
            return 0;
        struct table_entry *entry = table_at(table, id);
        entry->b = b;
        store_release(&entry->a, a);
    }
    for (;;) { /* repeats only if another thread took the slot */
        uint32_t there = look(table, number, hash, a, b, &slot);
        uint64_t none = 0;
        if (there != 0 || unlikely(slot == NO_SLOT))
            return there; /* another thread added the key first, or the index is full; our entry
                             stays unused */
        if (__atomic_compare_exchange_n(&index[slot], &none, slot_of(hash, id), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            *fresh = !found;
            return id;
        }
    }
}

uint32_t table_add(struct table *table, uint64_t a, uint32_t b, uint64_t max, bool *fresh)
{
    return add(table, a, b, (struct limit){max, true}, fresh);
}

uint32_t table_add_now(struct table *table, uint64_t a, uint32_t b, uint64_t max, bool *fresh)
{
    return add(table, a, b, (struct limit){max, false}, fresh);
}

void table_reserve(struct table *table, uint64_t max)
{
    struct limit limit = {max, true};
    unsigned number;
    uint32_t slab = (load_relaxed(&table->count) >> table->slab_shift) + 1;
    index_newest(table, &number, limit);
    for (uint32_t at = slab - 1; at <= slab && at < TABLE_SLABS; at++)
        if (load_acquire(&table->slabs[at]) == 0)
            memory_make(&table->slabs[at], (size_t)table->entry_bytes << table->slab_shift, limit);
}
