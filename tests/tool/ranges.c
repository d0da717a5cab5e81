/* SPDX-License-Identifier: MIT */
/* Ranges found as by looking at all of them, in whatever order they were added. */
#include "tool/profile/ranges.h"

#include "tests/unit/unit.h"

enum { RANGES = 6000, GROUPS = 3 };

static struct range all[RANGES];
static struct ranges ranges;
static size_t count;

static uint32_t dice(uint32_t max)
{
    static uint64_t state = 11;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % max;
}

/* Some are not the ones that are looked for, whatever their place. */
static bool accept(const void *context, uint32_t number)
{
    return number % *(const uint32_t *)context != 0;
}

static uint32_t look(uint64_t group, uint64_t start, uint64_t end, uint32_t kind)
{
    for (uint32_t i = 0; i < count; i++)
        if (all[i].group == group && all[i].start <= start && all[i].end >= end && accept(&kind, i))
            return i;
    return UINT32_MAX;
}

static void add(uint64_t start, uint64_t size)
{
    all[count] = (struct range){.group = dice(GROUPS), .start = start, .end = start + size};
    assert(ranges_add(&ranges, all[count].group, start, start + size, (uint32_t)count));
    count++;
}

static void compare(uint64_t room, uint64_t size_max)
{
    for (unsigned i = 0; i < 20; i++) {
        uint64_t group = dice(GROUPS), start = dice((uint32_t)room);
        uint64_t end = start + dice((uint32_t)size_max + 1);
        uint32_t kind = 7;
        assert(ranges_find(&ranges, group, start, end, accept, &kind) ==
               look(group, start, end, kind));
    }
}

/* As mappings are: side by side, and some twice. */
static void apart(void)
{
    enum { STEP = 100, PLACES = 2000 };
    for (unsigned i = 0; i < RANGES; i++) {
        add((uint64_t)dice(PLACES) * STEP, STEP / 2);
        if (i % 50 == 0)
            compare((uint64_t)PLACES * STEP, STEP / 2);
    }
}

/* One that has all the others in it is found from behind them. */
static void inside(void)
{
    uint32_t none = UINT32_MAX;
    count = 0;
    assert(ranges_add(&ranges, 0, 0, 1000000, 1));
    for (uint32_t i = 0; i < 5000; i++)
        assert(ranges_add(&ranges, 0, 10 + i, 11 + i, 2 + i));
    assert(ranges_find(&ranges, 0, 6000, 7000, accept, &none) == 1);
    assert(ranges_find(&ranges, 0, 10, 11, accept, &none) == 1);
    assert(ranges_find(&ranges, 0, 6000, 1000001, accept, &none) == UINT32_MAX);
    assert(ranges_find(&ranges, 1, 6000, 7000, accept, &none) == UINT32_MAX);
}

int main(void)
{
    uint32_t none = UINT32_MAX;
    assert(ranges_find(&ranges, 0, 1, 2, accept, &none) == UINT32_MAX);
    apart();
    ranges_free(&ranges);
    inside();
    ranges_free(&ranges);
    return 0;
}
