/* SPDX-License-Identifier: MIT */
/* Places where two objects were loaded one after the other: an address there may mean either. */
#ifndef PROFILE_CAPTURE_MOVED_H
#define PROFILE_CAPTURE_MOVED_H

#include "tool/profile/profile.h"

/* An object that was unloaded. */
struct moved {
    uint64_t start, end;
    uint32_t path, build_id; /* strings */
};

/* Marks locations (LOCATION_GUESS) at places that two mappings of different files have, or one and
 * an object that was unloaded. */
void moved_mark(struct profile *profile, const struct moved *moved, size_t count);

#endif
