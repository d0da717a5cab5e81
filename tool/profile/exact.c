/* SPDX-License-Identifier: MIT */
/* See tool/profile/exact.h. */
#include "tool/profile/exact.h"

#include <string.h>

static int64_t column_sum(const struct profile *profile, const char *type);

int64_t profile_exact(const struct profile *profile, const char *type)
{
    bool counted = profile->exact_allocs >= 0 && profile->exact_frees >= 0;
    if (profile->counted &&
        profile_type_blocks(type) == BLOCKS_AT_PEAK) /* samples are scaled to counters */
        return column_sum(profile, type);
    if (strcmp(type, TYPE_ALLOC_OBJECTS) == 0)
        return profile->exact_allocs;
    if (strcmp(type, TYPE_ALLOC_SPACE) == 0)
        return profile->exact_alloc_bytes;
    if (profile->at_peak) /* the counters are those of the end */
        return -1;
    if (strcmp(type, TYPE_INUSE_SPACE) == 0)
        return profile->exact_live_bytes;
    if (strcmp(type, TYPE_INUSE_OBJECTS) == 0 && counted)
        return profile->exact_allocs - profile->exact_frees;
    return -1;
}

static int64_t column_sum(const struct profile *profile, const char *type)
{
    int column = profile_type_named(profile, type);
    int64_t sum = 0;
    for (size_t i = 0; column >= 0 && i < profile->samples.count; i++)
        sum += profile->samples.values[column][i];
    return column >= 0 ? sum : -1;
}
