/* SPDX-License-Identifier: MIT */
/*
 * From recorded blocks to numbers that add up. The allocator's counters know exactly how many
 * blocks and bytes of each class were allocated, are live, and were live at the peak. A sampled
 * profile knows roughly which sites they belong to. The sites are fitted to the counters class by
 * class, by the rule of base/file/fit.h.
 *
 * The remainder, where a class has no record or only records with weight 1, is a row of its own:
 * *not sampled*. If recording did not cover the whole run, a counter includes blocks that no record
 * could stand for: then sites keep their estimates, reduced if they exceed the counter, and the
 * difference is not sampled.
 *
 * The bytes of a class follow from its blocks, which all have one size. All large blocks are one
 * class here, and its bytes are fitted separately.
 */
#ifndef HEAP_SCALE_H
#define HEAP_SCALE_H

#include "base/file/fit.h"
#include "lib/heap/site_row.h"
#include "lib/heap/totals.h"

struct scale {
    struct totals_peak peak;
    struct fit objects[ACCOUNT_ROWS];
    struct fit large_bytes;
};

/* Allocated blocks are live or freed; `peak` are those that were live when the heap was largest. */
struct scale_values {
    struct track_sum freed, live, peak;
};

/* Compares the counters with the sites as they are now. */
void scale_prepare(struct scale *scale, const struct account *account);
/* The values of a row, rounded so that the values of all rows add up. Requested bytes follow the
 * usable ones. */
struct scale_values scale_row(struct scale *scale, const struct track_row *row);
/* After all rows: the values that are not sampled. */
struct scale_values scale_rest(const struct scale *scale);
/* Blocks and usable bytes of a class at the peak: the sum of its rows and its rest. */
struct track_sum scale_peak(const struct scale *scale, unsigned class);

/* Rounds to nearest; a value that is too large becomes UINT64_MAX. */
uint64_t scale_round(double value);

#endif
