/* SPDX-License-Identifier: MIT */
/*
 * Scales what was sampled to what was counted. A snapshot has exact counters for each size of block
 * (docs/FORMATS.md, record 13) and rows that stand for a sample. For each size, and separately for
 * freed, live and peak (what was allocated is live or freed, so no site has more live than it
 * allocated):
 *
 *      seen      what the rows of this size have             (these blocks surely exist)
 *      estimate  the same times their weights
 *      exact     the counter
 *      value of a row = seen + k * (estimate - seen), with one k a size, so that the sum is exact
 *
 * What no row can stand for (no block of that size was sampled, or sampling was off for a time) is
 * left to the caller, which makes a sample named PROFILE_NOT_SAMPLED. Samples then add up to exact
 * totals.
 *
 * Use: reconcile_start, reconcile_class for each class, reconcile_row for each row,
 * reconcile_factors, then reconcile_value for each row and quantity, then reconcile_rest.
 */
#ifndef PROFILE_RECONCILE_H
#define PROFILE_RECONCILE_H

#include "tool/profile/capture.h"

enum { RECONCILE_CLASSES_MOST = 128, RECONCILE_SIZE_MOST = 32768, RECONCILE_GRANULE = 16 };

enum reconcile_metric { RECONCILE_FREED, RECONCILE_LIVE, RECONCILE_PEAK, RECONCILE_METRICS };
enum reconcile_quantity { RECONCILE_BLOCKS, RECONCILE_BYTES, RECONCILE_QUANTITIES };

/* value = down * (seen + k * (estimate - seen)) */
struct reconcile_factor {
    double k, down;
};

/* One quantity of one metric of one class. */
struct reconcile_sum {
    uint64_t exact;
    double seen, estimate;
    struct reconcile_factor factor;
    long double given; /* before rounding, to all rows so far */
    uint64_t rounded;  /* the same after rounding */
};

struct reconcile_class {
    uint64_t size; /* 0: large */
    struct reconcile_sum sums[RECONCILE_METRICS][RECONCILE_QUANTITIES];
    long double requested[RECONCILE_METRICS]; /* given so far, before rounding */
};

struct reconcile {
    unsigned count; /* 0: the snapshot has no counters */
    struct reconcile_class classes[RECONCILE_CLASSES_MOST];
    uint8_t by_size[RECONCILE_SIZE_MOST / RECONCILE_GRANULE + 1]; /* index + 1 of a class */
};

void reconcile_start(struct reconcile *it);
void reconcile_class(struct reconcile *it, const struct capture_class *class);
/* The class of blocks of this size; a new one without blocks if the counters have none. */
unsigned reconcile_find(struct reconcile *it, uint64_t size);
/* Allocated less live. */
struct capture_sum reconcile_freed(const struct capture_sum *allocated,
                                   const struct capture_sum *live);
void reconcile_row(struct reconcile *it, unsigned class, const struct capture_row *row);
/* When all rows are known. `covered`: every block since the start was subject to sampling. */
void reconcile_factors(struct reconcile *it, bool covered);
/* How many blocks or bytes one that was seen stands for. */
double reconcile_weight(const struct reconcile *it, unsigned class, enum reconcile_metric metric,
                        enum reconcile_quantity quantity, double weight);
/* A row's share in whole numbers; shares add up to the exact sum, whatever is rounded. */
struct capture_sum reconcile_value(struct reconcile *it, unsigned class,
                                   enum reconcile_metric metric, struct capture_sum seen,
                                   double weight);
/* After all rows: what no row stands for. */
struct capture_sum reconcile_rest(const struct reconcile *it, unsigned class,
                                  enum reconcile_metric metric);
/* The live bytes of that; works without `reconcile_value` for each row. */
double reconcile_live_rest(const struct reconcile *it, unsigned class);

#endif
