/* SPDX-License-Identifier: MIT */
/*
 * Reachable blocks that are forgotten, from the ages that a scan tells (lib/leak/ages.h). A site
 * has forgotten blocks if all of this holds:
 *
 *     growing   its live blocks came at all times: in each quarter of the time since the oldest one
 *               at least a tenth of them
 *     kept      of the blocks that it ever allocated, at most a tenth was freed: a cache with a
 *               limit looks the same by ages alone
 *     old       the oldest one is at least twice as old as the time for which writes were watched,
 *               and 10 s where they were not
 *
 * The forgotten ones are those in the older half of that time; where writes to pages were watched,
 * those among them whose pages were not written to.
 */
#ifndef PROFILE_READ_READ_CAPTURE_FORGOTTEN_H
#define PROFILE_READ_READ_CAPTURE_FORGOTTEN_H

#include "tool/profile/profile.h"

enum { FORGOTTEN_QUARTERS = 4 };
/* Of one site; blocks are recorded ones. */
struct forgotten_age {
    double weight; /* blocks that each of them stands for */
    int64_t oldest_us;
    int64_t untouched; /* in the older half of that time, and not written to while watched */
    int64_t quarters[FORGOTTEN_QUARTERS]; /* in each quarter of that time, the youngest first */
};

struct forgotten {
    int64_t *allocated, *live; /* objects by stack of the profile */
    size_t stacks;
};

/* All other rows are samples. False: memory is out. */
bool forgotten_start(struct forgotten *forgotten, struct profile *profile);
/* How many blocks of the site are forgotten. */
int64_t forgotten_blocks(const struct forgotten *forgotten, const struct profile *profile,
                         const struct forgotten_age *age, uint32_t stack);
void forgotten_free(struct forgotten *forgotten);

#endif
