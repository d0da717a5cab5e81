/* SPDX-License-Identifier: MIT */
/*
 * From what was recorded to numbers that add up. The allocator's counters know exactly how many
 * blocks and bytes of each class were allocated, are live, and were live at the peak; a sampled
 * profile knows which sites they belong to, roughly. Reconciled, class by class:
 *
 *      seen      what was recorded in the class; each of these blocks surely exists
 *      estimate  sum of seen * weight
 *      exact     the counter
 *
 *      value of a site = seen + k * (estimate - seen),   k = (exact - seen) / (estimate - seen)
 *
 * So only what no record stands for is distributed, in proportion to the records, and the sites of
 * a class add up to its counter. What is left, since a class has no record or only records with
 * weight 1, is *not sampled*: a row of its own. Where recording did not cover the whole run, a
 * counter also has blocks that no record could stand for: sites keep their estimates (k = 1),
 * reduced if they exceed the counter, and the difference is not sampled.
 *
 * All large blocks are one class here, whose blocks and bytes have a k each.
 */
#ifndef WATCH_SCALE_H
#define WATCH_SCALE_H

#include "lib/watch/heap_profile.h"
#include "lib/watch/totals.h"

/* What was allocated is live or freed: so no site has more live than it allocated. */
enum scale_measure { SCALE_FREED, SCALE_LIVE, SCALE_PEAK, SCALE_MEASURES };

/* Blocks, or bytes, of one class. */
struct scale_part {
    uint64_t exact, seen, given; /* given: what rows were told so far */
    double estimate;
    double on_seen, on_rest; /* value = seen * on_seen + (estimate - seen) * on_rest */
    double carry;            /* what rounding has left over */
};

struct scale {
    struct totals_peak peak;
    struct {
        struct scale_part objects, usable;
    } classes[ACCOUNT_ROWS][SCALE_MEASURES];
};

/* Compares the counters with the sites as they are now. */
void scale_prepare(struct scale *scale, const struct account *account);
/* A row's value, rounded so that the values of all rows add up. Requested bytes follow the usable
 * ones. */
struct profile_sum scale_row(struct scale *scale, enum scale_measure measure,
                             const struct profile_row *row);
/* After all rows: what is not sampled. */
struct profile_sum scale_rest(const struct scale *scale, enum scale_measure measure);

#endif
