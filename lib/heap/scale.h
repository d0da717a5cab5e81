/* SPDX-License-Identifier: MIT */
/*
 * From what was recorded to numbers that add up. The allocator's counters know exactly how many
 * blocks and bytes of each class were allocated, are live, and were live at the peak; a sampled
 * profile knows which sites they belong to, roughly. Sites are fitted to the counters class by
 * class, by the rule of base/fit.h.
 *
 * What is left, since a class has no record or only records with weight 1, is *not sampled*: a row
 * of its own. Where recording did not cover the whole run, a counter also has blocks that no record
 * could stand for: sites keep their estimates, reduced if they exceed the counter, and the
 * difference is not sampled.
 *
 * The bytes of a class follow its blocks, which have one size; all large blocks are one class here,
 * whose bytes are fitted for themselves.
 */
#ifndef HEAP_SCALE_H
#define HEAP_SCALE_H

#include "base/fit.h"
#include "lib/heap/site_row.h"
#include "lib/heap/totals.h"

struct scale {
    struct totals_peak peak;
    struct fit objects[ACCOUNT_ROWS];
    struct fit large_bytes;
};

/* What was allocated is live or freed; of that, `peak` was live when the heap was largest. */
struct scale_values {
    struct track_sum freed, live, peak;
};

/* Compares the counters with the sites as they are now. */
void scale_prepare(struct scale *scale, const struct account *account);
/* A row's values, rounded so that the values of all rows add up. Requested bytes follow the usable
 * ones. */
struct scale_values scale_row(struct scale *scale, const struct track_row *row);
/* After all rows: what is not sampled. */
struct scale_values scale_rest(const struct scale *scale);
/* What a class had at the peak, blocks and usable bytes: what its rows and the rest add up to. */
struct track_sum scale_peak(const struct scale *scale, unsigned class);

/* To the nearest; what is too large becomes UINT64_MAX. */
uint64_t scale_round(double value);

#endif
