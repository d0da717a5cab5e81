/* SPDX-License-Identifier: MIT */
/* See tool/profile/keys.h. */
#include "tool/profile/keys.h"

#include <stdlib.h>
#include <string.h>

static size_t place(const struct keys *keys, struct key key)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < 3; i++) {
        hash = (hash ^ key.words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    size_t at = hash & (keys->size - 1);
    while (keys->slots[at] != 0 && memcmp(&keys->items[keys->slots[at] - 1], &key, sizeof key) != 0)
        at = (at + 1) & (keys->size - 1);
    return at;
}

static bool grow(struct keys *keys)
{
    if (keys->count == keys->room) {
        size_t room = keys->room == 0 ? 64 : keys->room + keys->room / 2;
        struct key *items = realloc(keys->items, room * sizeof *items);
        if (!items)
            return false;
        keys->items = items;
        keys->room = room;
    }
    if (keys->count * 4 < keys->size * 3)
        return true;
    size_t size = keys->size == 0 ? 64 : keys->size * 2;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    free(keys->slots);
    keys->slots = slots;
    keys->size = size;
    for (uint32_t i = 0; i < keys->count; i++)
        slots[place(keys, keys->items[i])] = i + 1;
    return true;
}

void keys_free(struct keys *keys)
{
    free(keys->items);
    free(keys->slots);
    memset(keys, 0, sizeof *keys);
}

uint32_t keys_find(const struct keys *keys, struct key key)
{
    if (keys->size == 0)
        return KEYS_NONE;
    uint32_t slot = keys->slots[place(keys, key)];
    return slot == 0 ? KEYS_NONE : slot - 1;
}

uint32_t keys_add(struct keys *keys, struct key key, bool *fresh)
{
    *fresh = false;
    if (keys->count >= KEYS_NONE - 1 || !grow(keys))
        return KEYS_NONE;
    size_t at = place(keys, key);
    if (keys->slots[at] == 0) {
        keys->items[keys->count++] = key;
        keys->slots[at] = (uint32_t)keys->count;
        *fresh = true;
    }
    return keys->slots[at] - 1;
}
