/* SPDX-License-Identifier: MIT */
/* See tool/profile/exact.h. */
#include "tool/profile/exact.h"

#include <string.h>

int64_t profile_exact(const struct profile *profile, const char *type)
{
    bool counted = profile->exact_allocs >= 0 && profile->exact_frees >= 0;
    if (strcmp(type, "alloc_objects") == 0)
        return profile->exact_allocs;
    if (strcmp(type, "alloc_space") == 0)
        return profile->exact_alloc_bytes;
    if (profile->at_peak) /* the counters are those of the end */
        return -1;
    if (strcmp(type, "inuse_space") == 0)
        return profile->exact_live_bytes;
    if (strcmp(type, "inuse_objects") == 0 && counted)
        return profile->exact_allocs - profile->exact_frees;
    return -1;
}
