/* SPDX-License-Identifier: MIT */
/* See tool/profile/ranges.h. */
#include "tool/profile/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

enum {
    LOOSE_MAX = 512, /* unsorted ranges, which every search looks through */
    STEPS_MAX = 256, /* ranges around each other that a search looks at: it bounds its time */
};

static void sort_in(struct ranges *ranges);
static int compare(const void *left, const void *right);
static size_t place_of(const struct ranges *ranges, uint64_t group, uint64_t start);

bool ranges_add(struct ranges *ranges, uint64_t group, uint64_t start, uint64_t end,
                uint32_t number)
{
    if (ranges->count >= UINT32_MAX ||
        !list_reserve(&ranges->items, &ranges->room, ranges->count + 1, sizeof *ranges->items))
        return false;
    ranges->items[ranges->count++] = (struct range){group, start, end, number, 0};
    return true;
}

uint32_t ranges_find(struct ranges *ranges, uint64_t group, uint64_t start, uint64_t end,
                     ranges_accept *accept, const void *context)
{
    /* Sorts when the unsorted ones are more than a 64th: each sort looks at all of them. */
    if (ranges->count - ranges->sorted > LOOSE_MAX + ranges->sorted / 64)
        sort_in(ranges);
    const struct range *items = ranges->items;
    uint32_t best = UINT32_MAX;
    size_t at = place_of(ranges, group, start);
    for (unsigned steps = 0; at > 0 && steps < STEPS_MAX; at--, steps++) {
        const struct range *there = &items[at - 1];
        if (there->group != group || items[there->max].end < end)
            break;
        const struct range *largest = &items[there->max];
        if (steps == 0 && largest->number < best && accept(context, largest->number))
            best = largest->number;
        if (there->end >= end && there->number < best && accept(context, there->number))
            best = there->number;
    }
    for (size_t i = ranges->sorted; i < ranges->count; i++)
        if (items[i].group == group && items[i].start <= start && items[i].end >= end &&
            items[i].number < best && accept(context, items[i].number))
            best = items[i].number;
    return best;
}

static void sort_in(struct ranges *ranges)
{
    struct range *items = ranges->items;
    qsort(items, ranges->count, sizeof *items, compare);
    for (size_t i = 0; i < ranges->count; i++) {
        bool first = i == 0 || items[i - 1].group != items[i].group;
        uint32_t max = first ? (uint32_t)i : items[i - 1].max;
        items[i].max = items[max].end < items[i].end ? (uint32_t)i : max;
    }
    ranges->sorted = ranges->count;
}

static int compare(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* How many of the sorted ones are before or at this place. */
static size_t place_of(const struct ranges *ranges, uint64_t group, uint64_t start)
{
    size_t low = 0, high = ranges->sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct range *there = &ranges->items[middle];
        if (there->group < group || (there->group == group && there->start <= start))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ranges_free(struct ranges *ranges)
{
    free(ranges->items);
    memset(ranges, 0, sizeof *ranges);
}
