/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/shifted.h. A hash table with linear probing, under a lock. An entry's block is
 * written before its pointer and a new table is complete before it is used, so that a change that a
 * fork or a jump out of a signal handler interrupts is seen wholly or not at all.
 */
#include "lib/alloc/shifted.h"

#include <stddef.h>
#include <stdint.h>

#include "lib/window/window.h"

enum { ENTRIES_MIN = 64 /* 1 KiB; doubled while more than a quarter live */, GONE = 1 };

struct entry {
    uintptr_t pointer; /* 0: never used; GONE: removed */
    uintptr_t block;
};

struct entries {
    size_t mask;
    struct entry all[];
};

struct lock shifted_lock = {.rank = LOCK_OUTSIDE};
static struct entries *entries;
static size_t used; /* entries that are not 0, at most half of all, */
static size_t live; /* and those that stand for a block */

static void insert(struct entries *table, uintptr_t pointer, uintptr_t block);
static struct entry *entry_of(struct entries *table, uintptr_t pointer);
static bool renew(size_t wanted);
static size_t bytes_of(const struct entries *table);

bool shifted_add(const void *p, void *block)
{
    for (;;) { /* ends: each new table has twice the room that its blocks need */
        lock_take(&shifted_lock);
        if (entries != NULL && used < entries->mask / 2) {
            used++;
            store_relaxed(&live, live + 1); /* first: a forked child may have one too many */
            insert(entries, (uintptr_t)p, (uintptr_t)block);
            lock_give(&shifted_lock);
            return true;
        }
        size_t wanted = ENTRIES_MIN;
        while (wanted < live * 4)
            wanted *= 2;
        lock_give(&shifted_lock);
        if (!renew(wanted))
            return false;
    }
}

static void insert(struct entries *table, uintptr_t pointer, uintptr_t block)
{
    struct entry *entry = entry_of(table, pointer);
    entry->block = block;
    store_release(&entry->pointer, pointer);
}

static struct entry *entry_of(struct entries *table, uintptr_t pointer)
{
    size_t at = hash_word(pointer) >> 32;
    for (;; at++) { /* ends: at most half of the entries are in use */
        struct entry *entry = &table->all[at & table->mask];
        if (entry->pointer == pointer || entry->pointer == 0)
            return entry;
    }
}

/* Another table with `wanted` entries. Memory has a lock of lower rank, so it is taken before this
 * lock and given back after it. */
static bool renew(size_t wanted)
{
    struct entries *next = meta_take(sizeof *next + wanted * sizeof next->all[0]);
    if (next == NULL)
        return false;
    next->mask = wanted - 1;
    lock_take(&shifted_lock);
    struct entries *before = entries;
    if (before == NULL || live < next->mask / 2) {
        for (size_t i = 0; before != NULL && i <= before->mask; i++)
            if (before->all[i].pointer > GONE)
                insert(next, before->all[i].pointer, before->all[i].block);
        used = live;
        store_release(&entries, next);
    } else {
        before = next; /* other threads have filled it meanwhile */
    }
    lock_give(&shifted_lock);
    if (before != NULL)
        meta_give(before, bytes_of(before));
    return true;
}

static size_t bytes_of(const struct entries *table)
{
    return sizeof *table + (table->mask + 1) * sizeof table->all[0];
}

/* A signal handler that interrupted the allocator takes no lock: another thread may be changing the
 * table, and then it may miss the pointer. */
RACY void *shifted_find(const void *p)
{
    if (likely(load_relaxed(&live) == 0))
        return NULL;
    bool inside = lock_held != 0;
    if (!inside)
        lock_take(&shifted_lock);
    struct entry *entry = entry_of(load_acquire(&entries), (uintptr_t)p);
    void *block = entry->pointer == (uintptr_t)p ? (void *)entry->block : NULL;
    if (!inside)
        lock_give(&shifted_lock);
    return block;
}

void *shifted_remove(const void *p)
{
    void *block = NULL;
    lock_take(&shifted_lock);
    struct entry *entry = entries == NULL ? NULL : entry_of(entries, (uintptr_t)p);
    if (entry != NULL && entry->pointer == (uintptr_t)p) {
        block = (void *)entry->block;
        store_release(&entry->pointer, GONE);
        store_relaxed(&live, live - 1);
    }
    lock_give(&shifted_lock);
    return block;
}
