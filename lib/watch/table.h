/* SPDX-License-Identifier: MIT */
/*
 * A set that only grows. Entries have one size and a unique key; they are numbered in the order in
 * which they are added. Any number of threads add and look up at the same time without a lock; only
 * threads that need more memory for the table wait for each other.
 *
 *      slabs                       indexes, each four times as long as the one before
 *      +---------+---------+--     newest -> | 0 | 7 | 0 | 12 | ...    the entry's number and part
 *      | entries | entries |        older -> | 3 | 0 |                 of the hash, by the hash
 *      +---------+---------+--
 *
 * The thread that adds an index copies the previous one into it; until that is done, all threads
 * look in both. Two threads that add the same key during the copy may make two entries for it. That
 * is harmless: a profile then has two rows for it, which its readers add up.
 */
#ifndef WATCH_TABLE_H
#define WATCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "lib/alloc/alloc.h"

/* How every entry begins. */
struct table_entry {
    uint64_t a; /* the key: a is not 0 */
    uint32_t b;
    uint32_t link; /* free for the owner */
};

/* The last of 12 indexes, each 4 times as long as the one before, has 2^30 slots; no table comes
 * there: heap.memory bounds it, and slabs. */
enum { TABLE_INDEXES = 12, TABLE_SLABS = 1 << 16 };

struct table {
    uint32_t entry_bytes, slab_shift; /* a slab has 1 << slab_shift entries */
    uint32_t count;                   /* the next number */
    uint32_t newest;                  /* index, */
    uint32_t moved;                   /* and the last index that holds all entries of the one
                                         before it */
    uint32_t indexes[TABLE_INDEXES];  /* meta ids */
    uint32_t *slabs;                  /* TABLE_SLABS meta ids */
};

/* The number of the entry with that key, added if it is new (*fresh). 0 if memory is out, or if all
 * tables together would take more than `max` bytes. */
uint32_t table_add(struct table *table, uint64_t a, uint32_t b, uint64_t max, bool *fresh);
/* The same in a signal handler: never waits for a thread, least of all for the interrupted one, and
 * may find no memory for that reason. `table_reserve` makes that rare: it gets memory for the next
 * entries; it must not be called inside the allocator. */
uint32_t table_add_now(struct table *table, uint64_t a, uint32_t b, uint64_t max, bool *fresh);
void table_reserve(struct table *table, uint64_t max);
/* The entry of a number that was handed out; all but the number may be known when compiling, which
 * saves half of the instructions. */
INLINE void *table_entry(const uint32_t *slabs, uint32_t slab_shift, uint32_t entry_bytes,
                         uint32_t id)
{
    uint32_t slab = load_acquire(&slabs[id >> slab_shift]);
    return (char *)meta_at(slab) + (size_t)(id & ((1u << slab_shift) - 1)) * entry_bytes;
}
INLINE void *table_at(const struct table *table, uint32_t id)
{
    return table_entry(table->slabs, table->slab_shift, table->entry_bytes, id);
}
/* In a forked child: another thread of the parent may have been about to move an index. */
void table_recover(struct table *table);
/* All numbers below this one have been handed out. */
uint32_t table_count(const struct table *table);
/* Bytes of all tables. */
uint64_t table_bytes(void);

#endif
