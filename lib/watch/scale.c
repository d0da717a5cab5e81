/* SPDX-License-Identifier: MIT */
/* See lib/watch/scale.h. */
#include "lib/watch/scale.h"

#include <string.h>

#include "lib/watch/format_parts.h"

static struct profile_sum sum_of(const struct profile_row *row, enum scale_measure measure)
{
    const struct profile_sum *all = &row->allocated, *live = &row->live;
    if (measure == SCALE_FREED)
        return (struct profile_sum){all->objects - live->objects, all->requested - live->requested,
                                    all->usable - live->usable};
    return measure == SCALE_LIVE ? *live : row->peak;
}

static void part_add(struct scale_part *part, uint64_t seen, double weight)
{
    part->seen += seen;
    part->estimate += (double)seen * weight;
}

static void add_row(void *context, const struct profile_row *row)
{
    struct scale *scale = context;
    for (unsigned measure = 0; measure < SCALE_MEASURES; measure++) {
        struct profile_sum sum = sum_of(row, measure);
        part_add(&scale->classes[row->class][measure].objects, sum.objects, row->weight);
        part_add(&scale->classes[row->class][measure].usable, sum.usable, row->weight);
    }
}

static void part_solve(struct scale_part *part, bool covered)
{
    double exact = (double)part->exact, seen = (double)part->seen, rest = part->estimate - seen;
    bool spread = rest > seen * 1e-9;
    part->on_seen = part->on_rest = 1;
    if (exact < seen) { /* counted a moment before the sites were read */
        part->on_seen = exact / seen;
        part->on_rest = 0;
    } else if (covered || part->estimate > exact) {
        part->on_rest = spread ? (exact - seen) / rest : 0;
    }
}

/* The peak of a class: as the sites have it, or as an account had it. */
static void set_peak(struct scale *scale, unsigned row, bool in_sites)
{
    struct scale_part *objects = &scale->classes[row][SCALE_PEAK].objects;
    struct scale_part *usable = &scale->classes[row][SCALE_PEAK].usable;
    objects->exact = in_sites ? estimate_round(objects->estimate) : scale->peak.classes[row].blocks;
    usable->exact = in_sites ? estimate_round(usable->estimate) : scale->peak.classes[row].bytes;
}

void scale_prepare(struct scale *scale, const struct account *account)
{
    double sites = 0;
    memset(scale, 0, sizeof *scale);
    totals_peak(account, &scale->peak);
    profile_each(add_row, scale);
    for (unsigned row = 0; row < ACCOUNT_ROWS; row++) {
        const struct account_sum *sum = &account->classes[row];
        scale->classes[row][SCALE_FREED].objects.exact = sum->frees;
        scale->classes[row][SCALE_FREED].usable.exact = sum->free_bytes;
        scale->classes[row][SCALE_LIVE].objects.exact = account_live(sum);
        scale->classes[row][SCALE_LIVE].usable.exact = account_live_bytes(sum);
        sites += scale->classes[row][SCALE_PEAK].usable.estimate;
    }
    /* With threads at work the sites may miss some of it; no account is above the peak. */
    bool in_sites = scale->peak.in_sites && sites >= (double)scale->peak.bytes;
    bool covered = profile_covered();
    for (unsigned row = 0; row < ACCOUNT_ROWS; row++) {
        set_peak(scale, row, in_sites);
        for (unsigned measure = 0; measure < SCALE_MEASURES; measure++) {
            part_solve(&scale->classes[row][measure].objects, covered);
            part_solve(&scale->classes[row][measure].usable, covered);
        }
    }
}

static double part_value(const struct scale_part *part, uint64_t seen, double weight)
{
    return (double)seen * (part->on_seen + (weight - 1) * part->on_rest);
}

static uint64_t part_give(struct scale_part *part, uint64_t seen, double weight)
{
    double value = part_value(part, seen, weight) + part->carry;
    uint64_t whole = value > 0 ? estimate_round(value) : 0;
    part->carry = value - (double)whole;
    part->given += whole;
    return whole;
}

struct profile_sum scale_row(struct scale *scale, enum scale_measure measure,
                             const struct profile_row *row)
{
    struct profile_sum sum = sum_of(row, measure);
    struct scale_part *usable = &scale->classes[row->class][measure].usable;
    struct scale_part *objects = &scale->classes[row->class][measure].objects;
    double requested = part_value(usable, sum.requested, row->weight);
    return (struct profile_sum){
        .objects = part_give(objects, sum.objects, row->weight),
        .requested = estimate_round(requested),
        .usable = part_give(usable, sum.usable, row->weight),
    };
}

static uint64_t part_rest(const struct scale_part *part)
{
    return part->exact > part->given ? part->exact - part->given : 0;
}

struct profile_sum scale_rest(const struct scale *scale, enum scale_measure measure)
{
    struct profile_sum rest = {0, 0, 0};
    for (unsigned row = 0; row < ACCOUNT_ROWS; row++) {
        rest.objects += part_rest(&scale->classes[row][measure].objects);
        rest.usable += part_rest(&scale->classes[row][measure].usable);
    }
    rest.requested = rest.usable; /* what was asked for is not known */
    return rest;
}
