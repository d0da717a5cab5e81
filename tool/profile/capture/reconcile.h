/* SPDX-License-Identifier: MIT */
/*
 * Scales what was sampled to what was counted. A snapshot has exact counters for each size of block
 * (docs/FORMATS.md, record 13) and rows that stand for a sample. For each size the rows are fitted
 * to the counters by the rule of base/file/fit.h, blocks and bytes apart where the size is none
 * (large blocks).
 *
 * What no row can stand for (no block of that size was sampled, or sampling was off for a time) is
 * left to the caller, which makes a sample named PROFILE_NOT_SAMPLED. Samples then add up to exact
 * totals.
 *
 * Use: reconcile_start, reconcile_class for each class, reconcile_add for each row,
 * reconcile_solve, then reconcile_give for each row, then reconcile_rest.
 */
#ifndef PROFILE_CAPTURE_RECONCILE_H
#define PROFILE_CAPTURE_RECONCILE_H

#include "base/file/fit.h"
#include "tool/profile/capture/capture_records.h"

enum { RECONCILE_CLASSES_MAX = 128, RECONCILE_SIZE_MAX = 32768, RECONCILE_GRANULE = 16 };

/* Of a row, of what it stands for, or of what no row stands for. */
struct reconcile_sums {
    struct capture_sum allocated, live, peak;
};

struct reconcile_class {
    uint64_t size; /* 0: large */
    bool one_size; /* bytes are blocks * size */
    struct fit_counts blocks, bytes;
    struct fit fit_blocks, fit_bytes;
    /* Requested bytes given so far, before rounding. */
    struct {
        long double freed, live, peak;
    } requested;
};

struct reconcile {
    unsigned count; /* 0: the snapshot has no counters */
    struct reconcile_class classes[RECONCILE_CLASSES_MAX];
    uint8_t by_size[RECONCILE_SIZE_MAX / RECONCILE_GRANULE + 1]; /* index + 1 of a class */
};

void reconcile_start(struct reconcile *it);
void reconcile_class(struct reconcile *it, const struct capture_class *class);
/* The class of blocks of this size; a new one without blocks if the counters have none. */
unsigned reconcile_find(struct reconcile *it, uint64_t size);
void reconcile_add(struct reconcile *it, unsigned class, const struct reconcile_sums *seen,
                   double weight);
/* When all rows are known. `covered`: every block since the start was subject to sampling. */
void reconcile_solve(struct reconcile *it, bool covered);
/* How many blocks one that was seen stands for. */
struct fit_values reconcile_weights(const struct reconcile *it, unsigned class,
                                    const struct reconcile_sums *seen, double weight);
/* How many live bytes one that was seen stands for; `at_peak`: see `reconcile_at_peak`. */
double reconcile_live_weight(const struct reconcile *it, unsigned class, double at_peak,
                             double weight);
/* The part of a row's live bytes that counts as live at the peak, too. */
double reconcile_at_peak(const struct capture_sum *live, const struct capture_sum *peak);
/* A row's share in whole numbers; shares add up to the exact sum, whatever is rounded. */
struct reconcile_sums reconcile_give(struct reconcile *it, unsigned class,
                                     const struct reconcile_sums *seen, double weight);
/* After all rows: what no row stands for. */
struct reconcile_sums reconcile_rest(const struct reconcile *it, unsigned class);
/* The live bytes of that; works without `reconcile_give` for each row. */
double reconcile_live_rest(const struct reconcile *it, unsigned class);

#endif
