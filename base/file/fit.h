/* SPDX-License-Identifier: MIT */
/*
 * Fits what was sampled to what was counted: the arithmetic of docs/FORMATS.md, *Totals and sites*,
 * for the blocks, or the bytes, of one size class. The library uses it for what it writes, the
 * command for captures.
 *
 * A block is live or freed, and it was live at the heap's peak or not. That makes four cells:
 *
 *                      live          freed
 *      at the peak     BOTH          PEAK_ONLY
 *      not then        LIVE_ONLY     NEITHER
 *
 * A row (what was recorded of a site in this class) is split into the four. Each cell has a target,
 * whose sums are the counters for live, freed and peak; the rows get whole numbers that add up to
 * the target. So for every row, and for what no row stands for,
 *
 *      live + freed = allocated,  peak <= allocated,  and nothing is below 0.
 *
 * Counters do not tell how many blocks of the peak are still live. The targets are those that keep
 * the proportions of the sample: with one factor for live, one for freed, one for the peak and one
 * for the rest, each cell being multiplied by two of them. A cell in which
 * chance left no sample counts as half a block. Only what was not seen is multiplied: a recorded
 * block surely exists.
 *
 * Use: set it to zero, `fit_add` for each row, `fit_solve`, then `fit_give` for each row and
 * `fit_rest`.
 */
#ifndef FILE_FIT_H
#define FILE_FIT_H

#include <stdbool.h>
#include <stdint.h>

enum fit_kind { FIT_BOTH, FIT_LIVE_ONLY, FIT_PEAK_ONLY, FIT_NEITHER, FIT_CELLS };

/* Of a row or of the class. What was allocated and is not live was freed. */
struct fit_counts {
    uint64_t allocated, live, peak;
};

/* The same without rounding. */
struct fit_values {
    double allocated, live, peak;
};

/* A row has seen * on_seen + unseen * on_own + (unseen of the neighbour) * on_next, where unseen is
 * seen * (weight - 1). The neighbour, the other cell of live or freed, lends its rows to a cell in
 * which nothing was sampled. */
struct fit_cell {
    double seen, unseen;
    double on_seen, on_own, on_next;
    uint64_t target;
    double given;     /* to rows so far, */
    uint64_t rounded; /* and in whole numbers: never above `target` */
};

struct fit {
    struct fit_counts exact;
    double blocks; /* recorded */
    struct fit_cell cells[FIT_CELLS];
};

/* `blocks` were recorded, of which each stands for `weight`; `seen` counts them or their bytes. */
void fit_add(struct fit *fit, struct fit_counts seen, uint64_t blocks, double weight);
/* `exact` is what was counted. Where not every block was subject to sampling (not `covered`), rows
 * keep their estimates, reduced if they exceed a counter. */
void fit_solve(struct fit *fit, struct fit_counts exact, bool covered);
struct fit_values fit_value(const struct fit *fit, struct fit_counts seen, double weight);
/* The same in whole numbers: a rounding difference is passed on to the next row. */
struct fit_counts fit_give(struct fit *fit, struct fit_counts seen, double weight);
/* What was given to no row. */
struct fit_counts fit_rest(const struct fit *fit);
/* The live part of that, known before rows are given anything. */
double fit_live_rest(const struct fit *fit);
/* How many blocks a live block stands for if a share `at_peak`, from 0 to 1, was live at the peak.
 */
double fit_live_weight(const struct fit *fit, double at_peak, double weight);

#endif
