/* SPDX-License-Identifier: MIT */
/*
 * Things found by their bytes: each has the number it was given, whatever was added since, also
 * after the memory was given back; equal hashes are told apart; numbers may have gaps.
 */
#include "tool/memory/memory.h"

#include "tests/unit/unit.h"

enum { THINGS = 100000 };

/* The bytes of a number: short and long ones, some the beginning of others. */
static const void *bytes(const void *context, uint32_t number, size_t *size)
{
    static char text[2][64];
    static unsigned turn;
    char *at = text[turn++ % 2];
    unsigned more = *(const unsigned *)context;
    *size = (size_t)sprintf(at, "%.*s%u", (int)(number % 7 + more), "aaaaaaaa", number);
    return at;
}

static uint32_t find(struct map *map, uint32_t number)
{
    static const unsigned nothing = 0;
    uint32_t found;
    size_t size;
    const void *data = bytes(&nothing, number, &size);
    char copy[64];
    memcpy(copy, data, size);
    assert(map_find(map, &nothing, bytes, copy, size, &found));
    return found;
}

static void fill(struct map *map, uint32_t first, uint32_t step)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        assert(find(map, first + i * step) == MAP_NONE);
        map_add(map, first + i * step);
    }
    for (uint32_t i = 0; i < THINGS; i++)
        assert(find(map, first + i * step) == first + i * step);
}

/* A thing known by a comparison; all have one of four hashes. */
static uint64_t few_hash(const void *context, uint32_t number)
{
    return ((const uint32_t *)context)[number] % 4;
}

static bool few_same(const void *context, uint32_t number, const void *key)
{
    return ((const uint32_t *)context)[number] == *(const uint32_t *)key;
}

static void equal_hashes(void)
{
    enum { FEW = 500 };
    static const struct map_kind kind = {few_hash, few_same};
    uint32_t numbers[FEW], found;
    struct map map = {0};
    for (uint32_t i = 0; i < FEW; i++) {
        numbers[i] = i * 3;
        assert(map_find_as(&map, numbers, &kind, i * 3 % 4, &numbers[i], &found));
        assert(found == MAP_NONE);
        map_add(&map, i);
    }
    memmove(numbers, numbers + 100, 100 * sizeof numbers[0]); /* those of 100 to 199 are left */
    map_renew(&map, 100);
    for (uint32_t i = 0; i < FEW; i++) {
        uint32_t wanted = i * 3;
        assert(map_find_as(&map, numbers, &kind, wanted % 4, &wanted, &found));
        assert(found == (i >= 100 && i < 200 ? i - 100 : MAP_NONE));
        assert(map_look_as(&map, numbers, &kind, wanted % 4, &wanted) == found);
    }
    map_free(&map);
}

int main(void)
{
    struct map map = {0};
    equal_hashes();
    fill(&map, 0, 1);
    map_rest(&map);
    assert(find(&map, 17) == 17 && find(&map, THINGS) == MAP_NONE);
    map_add(&map, THINGS);
    assert(find(&map, THINGS) == THINGS && find(&map, THINGS - 1) == THINGS - 1);
    map_free(&map);
    fill(&map, 1, 1); /* the first has a meaning of its own */
    map_free(&map);
    map.sparse = true;
    fill(&map, 3, 1000);
    map_free(&map);
    assert(map_start(&map, THINGS));
    size_t size = map.size;
    fill(&map, 0, 1);
    assert(map.size == size); /* it was made for that many */
    map_free(&map);
    return 0;
}
