/* SPDX-License-Identifier: MIT */
/* What is where in a profile, for those that add to it. */
#ifndef PROFILE_MODEL_INDEX_H
#define PROFILE_MODEL_INDEX_H

#include "tool/memory/memory.h"
#include "tool/profile/model.h"

struct string {
    uint64_t offset; /* in profile->text */
    uint32_t length;
};

/* What makes a location another one, if it has no address. */
struct named {
    uint32_t function, line, mapping;
};

struct profile_index {
    struct map strings, functions, stacks, label_sets, addresses, named;
    struct named last_named;
    uint8_t *packed; /* a stack on its way in, */
    size_t packed_room;
    uint32_t *frames[2]; /* and stacks on their way out, in turns */
    size_t frames_room[2];
    unsigned turn;
    uint32_t *by_start; /* mappings by address */
    size_t by_start_count, by_start_room;
};

#endif
