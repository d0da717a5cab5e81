/* SPDX-License-Identifier: MIT */
/* How much of a profile has names: the one count behind "% of frames named", `memoir symbols` and
 * `memoir doctor`. */
#ifndef PROFILE_PROFILE_NAMES_H
#define PROFILE_PROFILE_NAMES_H

#include "tool/profile/model.h"

/* Each address counts once, on however many stacks it is. An address that has only the name of the
 * nearest exported symbol counts as `nearest`, not as `named`. */
struct profile_names {
    uint64_t addresses, named, nearest;
};

struct profile_names profile_names_of(const struct profile *profile);
/* 0 to 1; without any address 1. */
double profile_names_share(const struct profile *profile);

#endif
