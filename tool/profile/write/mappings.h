/* SPDX-License-Identifier: MIT */
/*
 * The mappings of a profile: by file and address, for writers that have a frame's file and address
 * but not the number of its mapping (cost: a binary search), and as lines of text.
 */
#ifndef PROFILE_WRITE_MAPPINGS_H
#define PROFILE_WRITE_MAPPINGS_H

#include <stdio.h>

#include "tool/profile/profile.h"

struct mappings {
    const struct profile *profile;
    uint32_t *order; /* their numbers, by file and start */
};

/* False when memory is out. All of it zero may be freed as well. */
bool mappings_start(struct mappings *mappings, const struct profile *profile);
void mappings_free(struct mappings *mappings);

/* Of a file, which is a text of the profile: the last one that starts no later than the address, or
 * else its first one; where it has none, that of no file. */
const struct profile_mapping *mappings_find(const struct mappings *mappings, const char *file,
                                            uint64_t address);

/* All of them as /proc/PID/maps has them, for the text formats of gperftools. */
void mappings_put(const struct profile *profile, FILE *file);

#endif
