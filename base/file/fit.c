/* SPDX-License-Identifier: MIT */
/*
 * See base/file/fit.h. `fit_solve` works in three steps: the four cells of the counters are found
 * from their three sums and the proportions of the sample (`both_of`); the targets become whole
 * numbers; and each cell gets the factors by which rows are multiplied. `fit_give` then only
 * multiplies, rounds, and carries the rounding difference on to the next row.
 */
#include "base/file/fit.h"

/* Sums of cells. */
struct margins {
    double live, freed, peak, off; /* off: not at the peak */
};

static void split(struct fit_counts counts, uint64_t cells[FIT_CELLS]);

void fit_add(struct fit *fit, struct fit_counts seen, uint64_t blocks, double weight)
{
    uint64_t parts[FIT_CELLS];
    split(seen, parts);
    fit->blocks += (double)blocks;
    for (unsigned i = 0; i < FIT_CELLS; i++) {
        fit->cells[i].seen += (double)parts[i];
        fit->cells[i].unseen += (double)parts[i] * (weight - 1);
    }
}

/* The other cell of live or of freed. */
static unsigned next_to(unsigned cell)
{
    return cell ^ 1;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t less_by(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static double min(double a, double b)
{
    return a < b ? a : b;
}

/* Puts as many as possible into BOTH, because a row does not say how many are. */
static void split(struct fit_counts counts, uint64_t cells[FIT_CELLS])
{
    uint64_t max = larger(counts.live, counts.peak);
    cells[FIT_BOTH] = smaller(counts.live, counts.peak);
    cells[FIT_LIVE_ONLY] = counts.live - cells[FIT_BOTH];
    cells[FIT_PEAK_ONLY] = counts.peak - cells[FIT_BOTH];
    cells[FIT_NEITHER] = counts.allocated > max ? counts.allocated - max : 0;
}

static struct margins margins_of(const double cells[FIT_CELLS])
{
    return (struct margins){
        .live = cells[FIT_BOTH] + cells[FIT_LIVE_ONLY],
        .freed = cells[FIT_PEAK_ONLY] + cells[FIT_NEITHER],
        .peak = cells[FIT_BOTH] + cells[FIT_PEAK_ONLY],
        .off = cells[FIT_LIVE_ONLY] + cells[FIT_NEITHER],
    };
}

/* The share of `all` that fits into `room`. */
static double share(double room, double all)
{
    return room < all ? room / all : 1;
}

/* For each cell the smaller share of its two sums. */
static void shares_of(double shares[FIT_CELLS], const struct margins *room,
                      const struct margins *all)
{
    double live = share(room->live, all->live), freed = share(room->freed, all->freed);
    double peak = share(room->peak, all->peak), off = share(room->off, all->off);
    shares[FIT_BOTH] = min(live, peak);
    shares[FIT_LIVE_ONLY] = min(live, off);
    shares[FIT_PEAK_ONLY] = min(freed, peak);
    shares[FIT_NEITHER] = min(freed, off);
}

static double never_below_0(double value)
{
    return value > 0 ? value : 0;
}

/* A cell without a sample, beside one that has some: half a block is taken for recorded there. */
static double product(double one, double two, double half)
{
    if (one <= 0 && two <= 0)
        return 0;
    return (one > 0 ? one : half) * (two > 0 ? two : half);
}

/* No block of the peak was recorded, and yet some of its blocks must still be live: as many as keep
 * the proportion of the other two cells. */
static double both_without_peak(const double unseen[FIT_CELLS], const struct margins *left,
                                double low, double high)
{
    double live = unseen[FIT_LIVE_ONLY], freed = unseen[FIT_NEITHER];
    double both = live + freed > 0
                      ? (left->live * freed - (left->off - left->live) * live) / (live + freed)
                      : low;
    return both < low ? low : min(both, high);
}

/*
 * How much of BOTH was not seen, for sums `left` that were not seen. If the cells were the sample's
 * times two factors each, BOTH * NEITHER / (LIVE_ONLY * PEAK_ONLY) is what it is in the sample.
 * The difference of the products grows with BOTH, so its zero is found by halving. If chance left
 * one of the cells without a sample, a product of 0 would take all that was not seen from another
 * cell, and its rows would pass for known. If one product has no sample at all, BOTH is as large as
 * can be, or, without a sample of its own, as small.
 */
static double both_of(const double unseen[FIT_CELLS], const struct margins *left, double half)
{
    enum { HALVINGS = 60 }; /* more than the 53 bits of a double */
    double low = never_below_0(left->live - left->off), high = min(left->live, left->peak);
    double same = product(unseen[FIT_BOTH], unseen[FIT_NEITHER], half);
    double other = product(unseen[FIT_LIVE_ONLY], unseen[FIT_PEAK_ONLY], half);
    if (unseen[FIT_BOTH] <= 0 && unseen[FIT_PEAK_ONLY] <= 0)
        return low > 0 ? both_without_peak(unseen, left, low, high) : low;
    if (same <= 0 && other <= 0)
        return unseen[FIT_BOTH] > 0 ? high : low;
    for (unsigned i = 0; i < HALVINGS; i++) {
        double both = (low + high) / 2;
        double neither = never_below_0(left->off - left->live + both);
        if (both * neither * other < (left->live - both) * (left->peak - both) * same)
            low = both;
        else
            high = both;
    }
    return (low + high) / 2;
}

static uint64_t whole(double value)
{
    return value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_C(1) << 63;
}

/* Whole targets that add up to the counters. */
static void set_targets(struct fit *fit, const struct fit_counts *exact, double both)
{
    uint64_t freed = exact->allocated - exact->live;
    uint64_t target = larger(whole(both), less_by(exact->peak, freed));
    target = smaller(target, smaller(exact->live, exact->peak));
    fit->cells[FIT_BOTH].target = target;
    fit->cells[FIT_LIVE_ONLY].target = exact->live - target;
    fit->cells[FIT_PEAK_ONLY].target = exact->peak - target;
    fit->cells[FIT_NEITHER].target = freed - (exact->peak - target);
}

/* If no sample of the peak exists, sites that freed such blocks were not necessarily there. */
static bool may_borrow(unsigned cell, const double unseen[FIT_CELLS])
{
    return unseen[next_to(cell)] > 0 && (cell != FIT_PEAK_ONLY || unseen[FIT_BOTH] > 0);
}

static void reach_targets(struct fit *fit, const double unseen[FIT_CELLS])
{
    for (unsigned i = 0; i < FIT_CELLS; i++) {
        struct fit_cell *cell = &fit->cells[i];
        double missing = never_below_0((double)cell->target - cell->seen * cell->on_seen);
        cell->on_own = cell->on_next = 0;
        if (unseen[i] > 0)
            cell->on_own = missing / unseen[i];
        else if (may_borrow(i, unseen))
            cell->on_next = missing / unseen[next_to(i)];
    }
}

/* What rows may have in all if they keep their estimates, which must not exceed a counter. */
static struct fit_counts capped(const struct fit *fit, const struct fit_counts *exact)
{
    double cells[FIT_CELLS];
    for (unsigned i = 0; i < FIT_CELLS; i++)
        cells[i] = fit->cells[i].seen + fit->cells[i].unseen;
    struct margins sums = margins_of(cells);
    uint64_t live = smaller(whole(sums.live), exact->live);
    uint64_t freed = smaller(whole(sums.freed), exact->allocated - exact->live);
    uint64_t peak = smaller(whole(sums.peak), exact->peak), all = live + freed;
    uint64_t off = exact->allocated - exact->peak;
    uint64_t seen_off = whole(fit->cells[FIT_LIVE_ONLY].seen + fit->cells[FIT_NEITHER].seen);
    peak = smaller(larger(peak, less_by(all, off)), less_by(all, smaller(seen_off, off)));
    return (struct fit_counts){all, live, peak};
}

void fit_solve(struct fit *fit, struct fit_counts exact, bool covered)
{
    double seen[FIT_CELLS], unseen[FIT_CELLS], shares[FIT_CELLS], all = 0;
    /* Counters are read one after the other while the program runs. */
    exact.live = smaller(exact.live, exact.allocated);
    exact.peak = smaller(exact.peak, exact.allocated);
    fit->exact = exact;
    if (!covered)
        exact = capped(fit, &exact);
    struct margins counted = {(double)exact.live, (double)(exact.allocated - exact.live),
                              (double)exact.peak, (double)(exact.allocated - exact.peak)};
    for (unsigned i = 0; i < FIT_CELLS; i++) {
        const struct fit_cell *cell = &fit->cells[i];
        seen[i] = cell->seen;
        unseen[i] = cell->unseen > cell->seen * 1e-9 ? cell->unseen : 0;
        all += unseen[i];
    }
    double half = fit->blocks > 0 ? all / fit->blocks / 2 : 0;
    struct margins sums = margins_of(seen);
    shares_of(shares, &counted, &sums); /* below 1 if the counters are older than the rows */
    for (unsigned i = 0; i < FIT_CELLS; i++) {
        fit->cells[i].on_seen = shares[i];
        seen[i] *= shares[i];
    }
    sums = margins_of(seen);
    struct margins left = {
        never_below_0(counted.live - sums.live), never_below_0(counted.freed - sums.freed),
        never_below_0(counted.peak - sums.peak), never_below_0(counted.off - sums.off)};
    set_targets(fit, &exact, seen[FIT_BOTH] + both_of(unseen, &left, half));
    reach_targets(fit, unseen);
}

static double cell_value(const struct fit *fit, unsigned i, const double seen[FIT_CELLS],
                         double weight)
{
    const struct fit_cell *cell = &fit->cells[i];
    return seen[i] * (cell->on_seen + (weight - 1) * cell->on_own) +
           seen[next_to(i)] * (weight - 1) * cell->on_next;
}

static void cell_values(const struct fit *fit, struct fit_counts counts, double weight,
                        double values[FIT_CELLS])
{
    uint64_t parts[FIT_CELLS];
    double seen[FIT_CELLS];
    split(counts, parts);
    for (unsigned i = 0; i < FIT_CELLS; i++)
        seen[i] = (double)parts[i];
    for (unsigned i = 0; i < FIT_CELLS; i++)
        values[i] = cell_value(fit, i, seen, weight);
}

struct fit_values fit_value(const struct fit *fit, struct fit_counts seen, double weight)
{
    double values[FIT_CELLS];
    cell_values(fit, seen, weight, values);
    struct margins sums = margins_of(values);
    return (struct fit_values){sums.live + sums.freed, sums.live, sums.peak};
}

struct fit_counts fit_give(struct fit *fit, struct fit_counts seen, double weight)
{
    double values[FIT_CELLS];
    uint64_t given[FIT_CELLS];
    cell_values(fit, seen, weight, values);
    for (unsigned i = 0; i < FIT_CELLS; i++) {
        struct fit_cell *cell = &fit->cells[i];
        uint64_t before = cell->rounded;
        cell->given += values[i];
        cell->rounded = larger(before, smaller(whole(cell->given), cell->target));
        given[i] = cell->rounded - before;
    }
    return (struct fit_counts){
        .allocated = given[0] + given[1] + given[2] + given[3],
        .live = given[FIT_BOTH] + given[FIT_LIVE_ONLY],
        .peak = given[FIT_BOTH] + given[FIT_PEAK_ONLY],
    };
}

struct fit_counts fit_rest(const struct fit *fit)
{
    uint64_t both = fit->cells[FIT_BOTH].rounded, live = fit->cells[FIT_LIVE_ONLY].rounded;
    uint64_t peak = fit->cells[FIT_PEAK_ONLY].rounded, none = fit->cells[FIT_NEITHER].rounded;
    return (struct fit_counts){
        .allocated = fit->exact.allocated - both - live - peak - none,
        .live = fit->exact.live - both - live,
        .peak = fit->exact.peak - both - peak,
    };
}

double fit_live_weight(const struct fit *fit, double at_peak, double weight)
{
    const double seen[FIT_CELLS] = {[FIT_BOTH] = at_peak, [FIT_LIVE_ONLY] = 1 - at_peak};
    return cell_value(fit, FIT_BOTH, seen, weight) + cell_value(fit, FIT_LIVE_ONLY, seen, weight);
}

double fit_live_rest(const struct fit *fit)
{
    double given = 0;
    for (unsigned i = FIT_BOTH; i <= FIT_LIVE_ONLY; i++) {
        const struct fit_cell *cell = &fit->cells[i];
        given += cell->seen * cell->on_seen + cell->unseen * cell->on_own +
                 fit->cells[next_to(i)].unseen * cell->on_next;
    }
    return never_below_0((double)fit->exact.live - given);
}
