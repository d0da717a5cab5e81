/* SPDX-License-Identifier: MIT */
/* See tool/profile/finder.h. */
#include "tool/profile/finder.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = size, word;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    if (size > 0)
        memcpy(&word, bytes, size);
    return mix(mix(hash, word), 0);
}

/* The bits of a slot that are the number's. */
static uint32_t number_mask(const struct finder *finder)
{
    return finder->sparse || finder->size > UINT32_MAX ? UINT32_MAX : (uint32_t)finder->size - 1;
}

static uint32_t slot_of(const struct finder *finder, uint64_t hash, uint32_t number)
{
    uint32_t mask = number_mask(finder);
    return ((uint32_t)(hash >> 32) & ~mask) | (number + 1);
}

static void place_again(struct finder *finder, const void *context, finder_bytes *bytes,
                        uint32_t number)
{
    size_t length;
    const void *data = bytes(context, number, &length);
    uint64_t hash = hash_bytes(data, length);
    size_t at = hash & (finder->size - 1);
    while (finder->slots[at] != 0)
        at = (at + 1) & (finder->size - 1);
    finder->slots[at] = slot_of(finder, hash, number);
}

static bool grow(struct finder *finder, const void *context, finder_bytes *bytes)
{
    struct finder larger = *finder;
    larger.size = finder->size < 64 ? 64 : finder->size * 2;
    while (finder->count * 4 >= larger.size * 3)
        larger.size *= 2;
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    if (finder->sparse) {
        for (size_t i = 0; i < finder->size; i++)
            if (finder->slots[i] != 0)
                place_again(&larger, context, bytes, finder->slots[i] - 1);
        free(finder->slots);
    } else { /* in the order of the list, which is that of its memory */
        free(finder->slots);
        for (size_t i = 0; i < finder->count; i++)
            place_again(&larger, context, bytes, finder->first + (uint32_t)i);
    }
    *finder = larger;
    return true;
}

bool finder_start(struct finder *finder, size_t count)
{
    for (finder->size = 64; count * 4 >= finder->size * 3;)
        finder->size *= 2;
    finder->slots = calloc(finder->size, sizeof *finder->slots);
    if (!finder->slots)
        finder->size = 0;
    return finder->slots != NULL;
}

bool finder_find(struct finder *finder, const void *context, finder_bytes *bytes, const void *data,
                 size_t size, uint32_t *number)
{
    if (finder->count * 4 >= finder->size * 3 && !grow(finder, context, bytes))
        return false;
    uint64_t hash = hash_bytes(data, size);
    uint32_t mask = number_mask(finder), tag = (uint32_t)(hash >> 32) & ~mask;
    size_t at = hash & (finder->size - 1);
    for (; finder->slots[at] != 0; at = (at + 1) & (finder->size - 1)) {
        uint32_t slot = finder->slots[at];
        if ((slot & ~mask) != tag)
            continue;
        size_t length;
        const void *there = bytes(context, (slot & mask) - 1, &length);
        if (length == size && (size == 0 || memcmp(there, data, size) == 0)) {
            *number = (slot & mask) - 1;
            return true;
        }
    }
    finder->place = at;
    finder->hash = hash;
    *number = FINDER_NONE;
    return true;
}

void finder_add(struct finder *finder, uint32_t number)
{
    if (finder->count++ == 0)
        finder->first = number;
    finder->slots[finder->place] = slot_of(finder, finder->hash, number);
}

void finder_rest(struct finder *finder)
{
    free(finder->slots);
    finder->slots = NULL;
    finder->size = 0;
}

void finder_free(struct finder *finder)
{
    free(finder->slots);
    memset(finder, 0, sizeof *finder);
}
