/* SPDX-License-Identifier: MIT */
/* What merge.c and merge_mappings.c share: two profiles while they become one. */
#ifndef PROFILE_MERGE_INSIDE_H
#define PROFILE_MERGE_INSIDE_H

#include "tool/profile/keys.h"
#include "tool/profile/model.h"
#include "tool/profile/ranges.h"

struct merging {
    struct profile *to;
    const struct profile *from;
    double factor;
    uint32_t *strings, *functions, *mappings, *locations, *stacks, *label_sets; /* by from's */
    int64_t *moves;      /* by from's mapping: added to addresses */
    struct ranges files; /* mappings of `to`: by path and by build id, */
    struct ranges taken; /* and by address */
    uint64_t last;       /* the end of the highest */
    struct keys places;  /* locations of `to` */
    uint32_t *place_of;  /* by number in `places`: the location */
    size_t place_room;
    struct keys rows; /* stacks and label sets of `to` */
    uint32_t *row_of; /* by number in `rows`: the first such row */
    size_t row_room;
    unsigned types[PROFILE_TYPES_MAX]; /* by from's; PROFILE_TYPES_MAX: left out */
};

/* The string of `to` that is the same as a string of `from`. */
uint32_t merge_string(struct merging *it, uint32_t string);
/* Fills in `mappings` and `moves`. */
void merge_mappings(struct merging *it);

#endif
