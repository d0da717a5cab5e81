/* SPDX-License-Identifier: MIT */
/*
 * Ranges of numbers, in groups: of addresses, or of the bytes of a file. Asked for one that has
 * another in it, or that touches it, without looking at all of them. What was added last lies in no
 * order yet, until it is so much that it is sorted in.
 */
#ifndef PROFILE_RANGES_H
#define PROFILE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t group, start, end;
    uint32_t number; /* whose it is: in the order in which they are added */
    uint32_t max;    /* the one with the largest end, of those of its group up to here */
};

/* All of it zero is empty. */
struct ranges {
    struct range *items;
    size_t count, room;
    size_t sorted; /* of them */
};

/* Whether it is the one that is looked for. */
typedef bool ranges_accept(const void *context, uint32_t number);

/* False when memory is out. */
bool ranges_add(struct ranges *ranges, uint64_t group, uint64_t start, uint64_t end,
                uint32_t number);
/* The smallest number of those that start at `start` or before and end at `end` or behind, or
 * UINT32_MAX. Where very many do, one of them. */
uint32_t ranges_find(struct ranges *ranges, uint64_t group, uint64_t start, uint64_t end,
                     ranges_accept *accept, const void *context);
void ranges_free(struct ranges *ranges);

#endif
