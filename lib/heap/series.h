/* SPDX-License-Identifier: MIT */
/*
 * The heap over time: SERIES_MOST points at most. When they are full, every second one goes and the
 * points come half as often from then on, so that the whole run is there, whatever its length.
 */
#ifndef HEAP_SERIES_H
#define HEAP_SERIES_H

#include "lib/heap/heap_profile.h"

/* Whether it is time for the next point. */
bool series_due(uint64_t now_ms);
/* Adds one, unless another thread is doing so. A second one of the same millisecond takes the place
 * of the first. */
void series_add(const struct profile_point *point);
/* In a forked child. */
void series_recover(void);
/* What a call left that a signal handler jumped out of (profile_abandoned). */
void series_abandoned(void);

#endif
