/* SPDX-License-Identifier: MIT */
/* Totals that were counted, not sampled, by the name of their column. */
#ifndef PROFILE_EXACT_H
#define PROFILE_EXACT_H

#include "tool/profile/model.h"

/* The total of a column ("inuse_space", "alloc_objects", ...) as the allocator counted it, whatever
 * the rate of samples was; -1: the profile does not have it. */
int64_t profile_exact(const struct profile *profile, const char *type);

#endif
