/* SPDX-License-Identifier: MIT */
/*
 * See tool/memory/map.h. Open addressing with linear probing, three quarters full at most: of the
 * layouts tried it is the smallest, and a search touches one or two cache lines of slots.
 */
#include "tool/memory/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/shortage.h"

enum { SIZE_FIRST = 64 }; /* places; doubled as needed */

/* A search by bytes, as a kind. */
struct by_bytes {
    const void *context;
    map_bytes *bytes;
};
struct bytes_key {
    const void *data;
    size_t size;
};

static uint64_t bytes_hash(const void *context, uint32_t number);
static bool bytes_same(const void *context, uint32_t number, const void *key);
static const struct map_kind by_bytes_kind = {bytes_hash, bytes_same};

static bool find(struct map *map, const void *context, const struct map_kind *kind, uint64_t hash,
                 const void *key, uint32_t *number);
static uint32_t search(const struct map *map, const void *context, const struct map_kind *kind,
                       uint64_t hash, const void *key, size_t *at);

bool map_start(struct map *map, size_t count)
{
    for (map->size = SIZE_FIRST; count * 4 >= map->size * 3;)
        map->size *= 2;
    map->slots = calloc(map->size, sizeof *map->slots);
    if (map->slots)
        return true;
    map->size = 0;
    shortage_note();
    return false;
}

bool map_find(struct map *map, const void *context, map_bytes *bytes, const void *data, size_t size,
              uint32_t *number)
{
    struct by_bytes by = {context, bytes};
    struct bytes_key key = {data, size};
    return find(map, &by, &by_bytes_kind, map_hash(data, size), &key, number);
}

bool map_find_as(struct map *map, const void *context, const struct map_kind *kind, uint64_t hash,
                 const void *key, uint32_t *number)
{
    return find(map, context, kind, hash, key, number);
}

uint32_t map_look(const struct map *map, const void *context, map_bytes *bytes, const void *data,
                  size_t size)
{
    struct by_bytes by = {context, bytes};
    struct bytes_key key = {data, size};
    return map_look_as(map, &by, &by_bytes_kind, map_hash(data, size), &key);
}

uint32_t map_look_as(const struct map *map, const void *context, const struct map_kind *kind,
                     uint64_t hash, const void *key)
{
    size_t at;
    return map->size > 0 ? search(map, context, kind, hash, key, &at) : MAP_NONE;
}

/* ---- slots ---- */

/* The bits of a slot that are the number's. */
static uint32_t number_mask(const struct map *map)
{
    return map->sparse || map->size > UINT32_MAX ? UINT32_MAX : (uint32_t)map->size - 1;
}

static uint32_t slot_of(const struct map *map, uint64_t hash, uint32_t number)
{
    uint32_t mask = number_mask(map);
    return ((uint32_t)(hash >> 32) & ~mask) | (number + 1);
}

static void place_again(struct map *map, const void *context, const struct map_kind *kind,
                        uint32_t number)
{
    uint64_t hash = kind->hash(context, number);
    size_t at = hash & (map->size - 1);
    while (map->slots[at] != 0)
        at = (at + 1) & (map->size - 1);
    map->slots[at] = slot_of(map, hash, number);
}

static bool grow(struct map *map, const void *context, const struct map_kind *kind)
{
    struct map larger = *map;
    larger.size = map->size < SIZE_FIRST ? SIZE_FIRST : map->size * 2;
    while (map->count * 4 >= larger.size * 3)
        larger.size *= 2;
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) {
        shortage_note();
        return false;
    }
    if (map->sparse) {
        for (size_t i = 0; i < map->size; i++)
            if (map->slots[i] != 0)
                place_again(&larger, context, kind, map->slots[i] - 1);
        free(map->slots);
    } else { /* in the order of the list, which is that of its memory */
        free(map->slots);
        for (size_t i = 0; i < map->count; i++)
            place_again(&larger, context, kind, map->first + (uint32_t)i);
    }
    *map = larger;
    return true;
}

/* Inlined into both callers: by bytes, where a profile is read, no call goes through `kind`. */
INLINE bool find(struct map *map, const void *context, const struct map_kind *kind, uint64_t hash,
                 const void *key, uint32_t *number)
{
    if (map->count * 4 >= map->size * 3 && !grow(map, context, kind))
        return false;
    *number = search(map, context, kind, hash, key, &map->place);
    map->hash = hash;
    return true;
}

/* The thing's number, or MAP_NONE and where it would go. */
INLINE uint32_t search(const struct map *map, const void *context, const struct map_kind *kind,
                       uint64_t hash, const void *key, size_t *place)
{
    uint32_t mask = number_mask(map), tag = (uint32_t)(hash >> 32) & ~mask;
    size_t at = hash & (map->size - 1);
    for (; map->slots[at] != 0; at = (at + 1) & (map->size - 1)) {
        uint32_t slot = map->slots[at];
        if ((slot & ~mask) == tag && kind->same(context, (slot & mask) - 1, key))
            return (slot & mask) - 1;
    }
    *place = at;
    return MAP_NONE;
}

void map_add(struct map *map, uint32_t number)
{
    if (map->count++ == 0)
        map->first = number;
    map->slots[map->place] = slot_of(map, map->hash, number);
}

void map_rest(struct map *map)
{
    free(map->slots);
    map->slots = NULL;
    map->size = 0;
}

void map_renew(struct map *map, size_t count)
{
    map_rest(map);
    map->count = count;
    map->first = 0;
}

void map_free(struct map *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

/* ---- hashes ---- */

uint64_t map_mix(uint64_t hash, uint64_t word)
{
    hash = hash_word(hash ^ word);
    return hash ^ hash >> 32;
}

uint64_t map_hash(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = size, word;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = map_mix(hash, word);
    }
    word = 0;
    if (size > 0)
        memcpy(&word, bytes, size);
    return map_mix(map_mix(hash, word), 0);
}

static uint64_t bytes_hash(const void *context, uint32_t number)
{
    const struct by_bytes *by = context;
    size_t size;
    const void *data = by->bytes(by->context, number, &size);
    return map_hash(data, size);
}

static bool bytes_same(const void *context, uint32_t number, const void *key)
{
    const struct by_bytes *by = context;
    const struct bytes_key *wanted = key;
    size_t size;
    const void *data = by->bytes(by->context, number, &size);
    return size == wanted->size && (size == 0 || memcmp(data, wanted->data, size) == 0);
}
