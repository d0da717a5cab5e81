/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/places.h. Sets of four entries, found by the block's address. An entry is known by
 * its block and the lowest bits of the time in the block's record. If a set is full, one of its
 * entries is forgotten, whichever the clock picks: old blocks have the same chances as young ones.
 */
#include "lib/heap/places.h"

#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"

enum {
    SETS = 4096,    /* of WAYS entries: 16,384 samples in 256 KiB, of which few pages are touched */
    WAYS = 4,       /* if there are few samples */
    BORN_BITS = 24, /* what the block's granule leaves of a word */
    SET_SHIFT = 4,  /* blocks within 256 bytes share a set */
};

struct entry {
    uint64_t key; /* granule of the block, and of its record BORN_BITS of the time; 0: none */
    uint64_t unit;
};

static struct entry (*table)[WAYS];

static uint64_t granule_of(const void *block);
static struct entry *set_of(struct entry (*sets)[WAYS], uint64_t key);

void places_forget(const void *block)
{
    struct entry(*sets)[WAYS] = load_acquire(&table);
    if (likely(sets == NULL))
        return;
    uint64_t key = granule_of(block) << BORN_BITS;
    struct entry *set = set_of(sets, key);
    for (unsigned i = 0; i < WAYS; i++)
        if (load_relaxed(&set[i].key) >> BORN_BITS == key >> BORN_BITS)
            store_relaxed(&set[i].key, 0);
}

static uint64_t granule_of(const void *block)
{
    return ((uintptr_t)block - window.base) >> GRANULE_SHIFT;
}

static uint64_t key_of(const void *block, const struct record *record)
{
    return granule_of(block) << BORN_BITS | (record->born_low & ((1u << BORN_BITS) - 1));
}

/* Neighbours are in neighbouring sets: a small program touches few pages of the table. */
static struct entry *set_of(struct entry (*sets)[WAYS], uint64_t key)
{
    uint64_t granule = key >> BORN_BITS >> SET_SHIFT;
    return sets[(granule ^ granule >> 12) % SETS];
}

static struct entry (*table_get(void))[WAYS]
{
    struct entry(*sets)[WAYS] = load_acquire(&table), (*none)[WAYS] = NULL;
    if (likely(sets != NULL))
        return sets;
    sets = os_map(SETS * sizeof *sets);
    if (sets == NULL ||
        __atomic_compare_exchange_n(&table, &none, sets, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return sets;
    os_unmap(sets, SETS * sizeof *sets);
    return none;
}

void places_note(const void *block, const void *next)
{
    const struct record *record = central_record(span_of(block), block);
    if (record == NULL || record->site == 0 || next == NULL || !window_has(next))
        return;
    struct entry(*sets)[WAYS] = table_get();
    if (sets == NULL)
        return;
    uint64_t key = key_of(block, record), same = key >> BORN_BITS;
    struct entry *set = set_of(sets, key), *entry = &set[record->born_low >> BORN_BITS & 3];
    for (unsigned i = 0; i < WAYS; i++) {
        uint64_t other = load_relaxed(&set[i].key);
        if (other == 0 || other >> BORN_BITS == same) {
            entry = &set[i];
            break;
        }
    }
    store_relaxed(&entry->key, 0); /* a reader never sees half of each */
    store_release(&entry->unit, unit_of(next));
    store_release(&entry->key, key);
}

bool places_find(const void *block, const struct record *record, uint32_t *unit)
{
    struct entry(*sets)[WAYS] = load_acquire(&table);
    if (sets == NULL)
        return false;
    uint64_t key = key_of(block, record);
    struct entry *set = set_of(sets, key);
    for (unsigned i = 0; i < WAYS; i++) {
        if (load_acquire(&set[i].key) != key)
            continue;
        *unit = (uint32_t)load_acquire(&set[i].unit);
        return load_relaxed(&set[i].key) == key;
    }
    return false;
}
