/* SPDX-License-Identifier: MIT */
/*
 * Numbers that a file gave to things, and ours. Files mostly count from 1, and then looking is an
 * array's access; else it is a binary search.
 */
#ifndef PROFILE_PARSE_IDS_H
#define PROFILE_PARSE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ids_pair {
    uint64_t id;
    uint32_t number;
};

struct ids {
    struct ids_pair *pairs;
    size_t count, room;
    bool scattered; /* not 1, 2, 3, ... */
};

/* False: memory is out. */
bool ids_add(struct ids *ids, uint64_t id, uint32_t number);
/* After all were added. False: *twice was added twice. */
bool ids_sort(struct ids *ids, uint64_t *twice);
/* False: there is none. */
bool ids_find(const struct ids *ids, uint64_t id, uint32_t *number);

#endif
