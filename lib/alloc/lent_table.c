/* SPDX-License-Identifier: MIT */
/*
 * The hash table that finds extents (lib/alloc/lent.h): by their first byte, by the byte behind
 * their last one, and by each page in which a live block may begin. Open addressing; removed
 * entries stay until the next table is made. It is changed under the lock alone; a signal handler
 * that interrupted its own thread in here may read it, so entries and table are stored before what
 * makes them valid.
 */
#include "lib/alloc/lent_table.h"

#include "base/compiler.h"
#include "base/os.h"

enum { ENTRIES_FIRST = 1024 }; /* four pages */

struct entry {
    uintptr_t key; /* 0: never used */
    struct extent *extent;
};

static struct entry *entries;
static size_t room, used, live; /* entries; those that are not 0; those that are not gone */

static struct entry *entry_find(struct entry *table, size_t size, uintptr_t key);

bool lent_table_reserve(size_t more)
{
    if (entries != NULL && used + more < room / 2)
        return true;
    size_t size = ENTRIES_FIRST;
    while (size < 4 * (live + more))
        size *= 2;
    struct entry *next = os_map(size * sizeof *next);
    if (next == NULL)
        return false;
    for (size_t i = 0; i < room; i++)
        if (entries[i].key > KEY_GONE)
            *entry_find(next, size, entries[i].key) = entries[i];
    struct entry *before = entries;
    size_t bytes = room * sizeof *before;
    store_release(&entries, next);
    store_release(&room, size);
    used = live;
    if (before != NULL)
        os_unmap(before, bytes);
    return true;
}

void lent_table_put(uintptr_t address, uintptr_t kind, struct extent *extent)
{
    struct entry *entry = entry_find(entries, room, address | kind);
    used += entry->key == 0;
    live++;
    entry->extent = extent;
    store_release(&entry->key, address | kind);
}

void lent_table_remove(uintptr_t address, uintptr_t kind)
{
    struct entry *entry = entry_find(entries, room, address | kind);
    if (entry->key == 0)
        return;
    entry->key = KEY_GONE;
    live--;
}

struct extent *lent_table_find(uintptr_t address, uintptr_t kind)
{
    if (entries == NULL)
        return NULL;
    struct entry *entry = entry_find(entries, room, address | kind);
    return entry->key == 0 ? NULL : entry->extent;
}

void lent_table_each(void (*each)(void *context, const struct extent *extent), void *context)
{
    for (size_t i = 0; i < room; i++)
        if (entries[i].key > KEY_GONE && (entries[i].key & KEY_GONE) == KEY_START)
            each(context, entries[i].extent);
}

static struct entry *entry_find(struct entry *table, size_t size, uintptr_t key)
{
    size_t at = hash_word(key) >> 20;
    for (;; at++) { /* ends: at most half of the entries are in use */
        struct entry *entry = &table[at & (size - 1)];
        if (entry->key == key || entry->key == 0)
            return entry;
    }
}
