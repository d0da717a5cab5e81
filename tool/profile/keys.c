/* SPDX-License-Identifier: MIT */
/* See tool/profile/keys.h. */
#include "tool/profile/keys.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

static const void *key_bytes(const void *context, uint32_t number, size_t *size);

void keys_free(struct keys *keys)
{
    free(keys->items);
    map_free(&keys->map);
    memset(keys, 0, sizeof *keys);
}

uint32_t keys_find(const struct keys *keys, struct key key)
{
    return map_look(&keys->map, keys, key_bytes, &key, sizeof key);
}

uint32_t keys_add(struct keys *keys, struct key key, bool *fresh)
{
    uint32_t number = KEYS_NONE;
    *fresh = false;
    if (!map_find(&keys->map, keys, key_bytes, &key, sizeof key, &number) || number != KEYS_NONE)
        return number;
    if (keys->count >= KEYS_NONE - 1 ||
        !list_reserve(&keys->items, &keys->room, keys->count + 1, sizeof key))
        return KEYS_NONE;
    keys->items[keys->count] = key;
    map_add(&keys->map, (uint32_t)keys->count);
    *fresh = true;
    return (uint32_t)keys->count++;
}

static const void *key_bytes(const void *context, uint32_t number, size_t *size)
{
    *size = sizeof(struct key);
    return &((const struct keys *)context)->items[number];
}
