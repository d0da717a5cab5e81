/* SPDX-License-Identifier: MIT */
/*
 * How old reachable blocks are, by site. A site whose live blocks came evenly over a long time, and
 * of which hardly any was freed, grows: a cache without a limit, a list that nothing removes from.
 * Where the program did not even write to the older ones (written.h), they are forgotten. Which
 * were freed is not known here: the reader of the result judges.
 *
 * Two passes over all blocks with a record: the first finds the oldest of each site, the second how
 * many are in each quarter of that time.
 */
#ifndef LEAK_AGES_H
#define LEAK_AGES_H

#include "lib/leak/blocks.h"
#include "lib/leak/result.h"

void ages_begin(struct scan_ages *ages);
/* A reachable block; `record` may be NULL. In the first pass, */
void ages_first(struct scan_ages *ages, const struct found *block, const struct record *record);
/* and in the second. `written`: the program wrote to it, or that is not known. */
void ages_second(struct scan_ages *ages, const struct record *record, bool written);
/* Ticks since a record was made. */
uint64_t ages_ticks(const struct record *record, uint64_t now);
/* How many blocks of its size a recorded block of the site stands for, in parts of 1024. */
uint64_t ages_weight(const struct scan_ages *ages, const struct scan_age *age);

#endif
