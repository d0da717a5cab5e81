/* SPDX-License-Identifier: MIT */
/*
 * A set that only grows: entries of one size, each with a key that is there once, known by numbers
 * that are handed out in order. Any number of threads add and look up at the same time without a
 * lock; only a thread that needs more memory for it waits for others that do.
 *
 *      slabs                       indexes, each four times as long as the one before
 *      +---------+---------+--     newest -> | 0 | 7 | 0 | 12 | ...    the entry's number and part
 *      | entries | entries |        older -> | 3 | 0 |                 of the hash, by the hash
 *      +---------+---------+--
 *
 * Whoever adds an index moves all of the last one into it; until that is done, others look in
 * both. Two threads that add a key at that very moment may make two entries of it: nobody is
 * harmed.
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

enum { TABLE_INDEXES = 12, TABLE_SLABS = 1 << 16 };

struct table {
    uint32_t entry_bytes, slab_shift; /* a slab has 1 << slab_shift entries */
    uint32_t count;                   /* the next number */
    uint32_t newest;                  /* index, */
    uint32_t moved;                   /* and the one that has all that the one before it had */
    uint32_t indexes[TABLE_INDEXES];  /* meta ids */
    uint32_t *slabs;                  /* TABLE_SLABS meta ids */
};

/* The number of the entry with that key, added if need be (*fresh). 0 when there is no memory
 * for it, or all tables would take more than `most` bytes. */
uint32_t table_add(struct table *table, uint64_t a, uint32_t b, uint64_t most, bool *fresh);
/* The entry of a number that was handed out. */
INLINE void *table_at(const struct table *table, uint32_t id)
{
    uint32_t slab = load_acquire(&table->slabs[id >> table->slab_shift]);
    return (char *)meta_at(slab) +
           (size_t)(id & ((1u << table->slab_shift) - 1)) * table->entry_bytes;
}
/* In a forked child: a thread that stayed behind may have been about to move an index. */
void table_recover(struct table *table);
/* Numbers below it were handed out. */
uint32_t table_count(const struct table *table);
/* Bytes of all tables. */
uint64_t table_bytes(void);

#endif
