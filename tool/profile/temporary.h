/* SPDX-License-Identifier: MIT */
/*
 * Temporary blocks: freed before the program allocates another one, as heaptrack counts them.
 * Captures have ages instead. A block counts as temporary if it was about as old as the mean time
 * between two allocations of the program, and short-lived: younger than about a millisecond.
 */
#ifndef PROFILE_TEMPORARY_H
#define PROFILE_TEMPORARY_H

#include "tool/profile/model.h"

/* How many of the classes of ages such blocks end in; 0: ages are not known. */
unsigned temporary_classes(const struct profile *profile);
/* The blocks of a sample that ended in the first `classes`, estimated. */
int64_t temporary_blocks(const struct profile *profile, size_t sample, unsigned classes);

#endif
