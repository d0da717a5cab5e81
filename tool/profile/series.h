/* SPDX-License-Identifier: MIT */
/*
 * Dumps of one process, at moments of one run. They are no parts of a sum: what is in one is in the
 * next as well. The last is what counts, and those before it are its history.
 */
#ifndef PROFILE_SERIES_H
#define PROFILE_SERIES_H

#include "tool/profile/model.h"

/* Whether both are of one process: its number, its host and the time it started. */
bool series_of_one(const struct profile *a, const struct profile *b);
/* Makes `to`, which is as profile_start leaves it, from moments of one run, in any order; they lose
 * what they have. False: memory is out. */
bool series_make(struct profile *to, struct profile *moments, size_t count);

#endif
