/* SPDX-License-Identifier: MIT */
/* See lib/watch/table.h. */
#include "lib/watch/table.h"

#include "base/os.h"

enum { INDEX_SHIFT = 8, INDEX_STEP = 2, HUGE_LEAST = 2 << 20 };

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
    uint64_t x = (a ^ (uint64_t)b << 40 ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static unsigned index_shift(unsigned number)
{
    return INDEX_SHIFT + number * INDEX_STEP;
}

/* Memory that stays, put where *place is still 0. */
static bool memory_make(uint32_t *place, size_t bytes, uint64_t most)
{
    if (load_relaxed(&bytes_taken) + bytes > most)
        return false;
    void *memory = meta_take(bytes);
    if (memory == NULL)
        return false;
    if (bytes >= HUGE_LEAST) /* looked up at random places */
        os_huge(memory, bytes, true);
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(place, &none, meta_id(memory), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        __atomic_fetch_add(&bytes_taken, bytes, __ATOMIC_RELAXED);
    else
        meta_give(memory, bytes); /* another thread was first */
    return true;
}

/* A new number whose entry has memory; 0 if there is none. */
static uint32_t number_take(struct table *table, uint64_t most)
{
    uint32_t id = load_relaxed(&table->count);
    do {
        uint32_t slab = id >> table->slab_shift;
        if (slab >= TABLE_SLABS)
            return 0;
        if (load_acquire(&table->slabs[slab]) == 0 &&
            !memory_make(&table->slabs[slab], (size_t)table->entry_bytes << table->slab_shift,
                         most))
            return 0;
    } while (!__atomic_compare_exchange_n(&table->count, &id, id + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return id;
}

/* The newest index, after a longer one was added if this one is half full. NULL without memory. */
static uint64_t *index_newest(struct table *table, unsigned *number, uint64_t most)
{
    *number = load_acquire(&table->newest);
    if (load_acquire(&table->indexes[*number]) == 0 &&
        !memory_make(&table->indexes[*number], sizeof(uint64_t) << index_shift(*number), most))
        return NULL;
    size_t size = (size_t)1 << index_shift(*number), count = load_relaxed(&table->count);
    if (count >= size / 2 && *number + 1 < TABLE_INDEXES &&
        memory_make(&table->indexes[*number + 1], sizeof(uint64_t) << index_shift(*number + 1),
                    most)) {
        uint32_t expected = *number;
        __atomic_compare_exchange_n(&table->newest, &expected, *number + 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
        ++*number;
    } else if (count >= size - size / 8) {
        return NULL;
    }
    return meta_at(load_acquire(&table->indexes[*number]));
}

static bool is(const struct table *table, uint32_t id, uint64_t a, uint32_t b)
{
    const struct table_entry *entry = table_at(table, id);
    return load_relaxed(&entry->a) == a && entry->b == b;
}

/* What an index holds for an entry: its number, and enough of the hash that other entries need not
 * be looked at. */
static uint64_t slot_of(uint64_t hash, uint32_t id)
{
    return hash << 32 | id;
}

/* The number of the key in one index, or 0. *slot is where it is or would be. */
static uint32_t look(const struct table *table, const uint64_t *index, unsigned shift,
                     uint64_t hash, uint64_t a, uint32_t b, size_t *slot)
{
    size_t mask = ((size_t)1 << shift) - 1;
    for (size_t at = hash >> (64 - shift);; at = (at + 1) & mask) {
        uint64_t there = load_acquire(&index[at]);
        *slot = at;
        if (there == 0)
            return 0;
        if (there >> 32 == (uint32_t)hash && is(table, (uint32_t)there, a, b))
            return (uint32_t)there;
    }
}

static uint32_t look_older(const struct table *table, unsigned newest, uint64_t hash, uint64_t a,
                           uint32_t b)
{
    size_t slot;
    for (unsigned number = newest; number-- > 0;) {
        uint32_t id = look(table, meta_at(load_acquire(&table->indexes[number])),
                           index_shift(number), hash, a, b, &slot);
        if (id != 0)
            return id;
    }
    return 0;
}

uint32_t table_add(struct table *table, uint64_t a, uint32_t b, uint64_t most, bool *fresh)
{
    uint64_t hash = hash_of(a, b);
    size_t slot;
    *fresh = false;
    unsigned number = load_acquire(&table->newest);
    uint32_t newest = load_acquire(&table->indexes[number]);
    if (likely(newest != 0)) {
        uint32_t id = look(table, meta_at(newest), index_shift(number), hash, a, b, &slot);
        if (likely(id != 0))
            return id;
    }
    uint64_t *index = index_newest(table, &number, most);
    uint32_t id = look_older(table, number, hash, a, b);
    if (index == NULL)
        return id;
    bool found = id != 0;
    if (!found) {
        if ((id = number_take(table, most)) == 0)
            return 0;
        struct table_entry *entry = table_at(table, id);
        entry->b = b;
        store_release(&entry->a, a);
    }
    for (;;) {
        uint32_t there = look(table, index, index_shift(number), hash, a, b, &slot);
        uint64_t none = 0;
        if (there != 0)
            return there; /* another thread was first; our entry stays unused */
        if (__atomic_compare_exchange_n(&index[slot], &none, slot_of(hash, id), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            *fresh = !found;
            return id;
        }
    }
}
