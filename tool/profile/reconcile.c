/* SPDX-License-Identifier: MIT */
/* See tool/profile/reconcile.h. */
#include "tool/profile/reconcile.h"

#include <math.h>
#include <string.h>

void reconcile_start(struct reconcile *it)
{
    it->count = 0;
    memset(it->by_size, 0, sizeof it->by_size);
}

static unsigned class_add(struct reconcile *it, uint64_t size)
{
    if (it->count == RECONCILE_CLASSES_MOST)
        return RECONCILE_CLASSES_MOST - 1; /* no library has that many */
    struct reconcile_class *class = &it->classes[it->count];
    memset(class, 0, sizeof *class);
    class->size = size;
    if (size % RECONCILE_GRANULE == 0 && size <= RECONCILE_SIZE_MOST)
        it->by_size[size / RECONCILE_GRANULE] = (uint8_t)(it->count + 1);
    return it->count++;
}

unsigned reconcile_find(struct reconcile *it, uint64_t size)
{
    if (size % RECONCILE_GRANULE == 0 && size <= RECONCILE_SIZE_MOST) {
        unsigned found = it->by_size[size / RECONCILE_GRANULE];
        return found > 0 ? found - 1 : class_add(it, size);
    }
    for (unsigned i = 0; i < it->count; i++)
        if (it->classes[i].size == size)
            return i;
    return class_add(it, size);
}

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

void reconcile_class(struct reconcile *it, const struct capture_class *class)
{
    const struct capture_count counts[RECONCILE_METRICS] = {
        [RECONCILE_FREED] = {less(class->allocated.blocks, class->live.blocks),
                             less(class->allocated.bytes, class->live.bytes)},
        [RECONCILE_LIVE] = class->live,
        [RECONCILE_PEAK] = class->peak,
    };
    struct reconcile_class *to = &it->classes[reconcile_find(it, class->size)];
    for (unsigned i = 0; i < RECONCILE_METRICS; i++) {
        to->sums[i][RECONCILE_BLOCKS].exact += counts[i].blocks;
        to->sums[i][RECONCILE_BYTES].exact += counts[i].bytes;
    }
}

struct capture_sum reconcile_freed(const struct capture_sum *allocated,
                                   const struct capture_sum *live)
{
    return (struct capture_sum){less(allocated->objects, live->objects),
                                less(allocated->requested, live->requested),
                                less(allocated->usable, live->usable)};
}

void reconcile_row(struct reconcile *it, unsigned class, const struct capture_row *row)
{
    struct capture_sum freed = reconcile_freed(&row->allocated, &row->live);
    const struct capture_sum *const sums[RECONCILE_METRICS] = {
        [RECONCILE_FREED] = &freed,
        [RECONCILE_LIVE] = &row->live,
        [RECONCILE_PEAK] = &row->peak,
    };
    for (unsigned i = 0; i < RECONCILE_METRICS; i++) {
        const double seen[] = {(double)sums[i]->objects, (double)sums[i]->usable};
        for (unsigned k = 0; k < RECONCILE_QUANTITIES; k++) {
            it->classes[class].sums[i][k].seen += seen[k];
            it->classes[class].sums[i][k].estimate += seen[k] * row->weight;
        }
    }
}

static struct reconcile_factor factor_of(const struct reconcile_sum *sum, bool covered)
{
    double exact = (double)sum->exact, unseen = sum->estimate - sum->seen;
    bool weighted = unseen > sum->seen * 1e-9;
    if (exact < sum->seen) /* the program ran on while the rows were written */
        return (struct reconcile_factor){0, exact / sum->seen};
    if (covered || sum->estimate > exact)
        return (struct reconcile_factor){weighted ? (exact - sum->seen) / unseen : 0, 1};
    return (struct reconcile_factor){1, 1};
}

void reconcile_factors(struct reconcile *it, bool covered)
{
    for (unsigned i = 0; i < it->count; i++)
        for (unsigned m = 0; m < RECONCILE_METRICS; m++)
            for (unsigned k = 0; k < RECONCILE_QUANTITIES; k++) {
                struct reconcile_sum *sum = &it->classes[i].sums[m][k];
                sum->factor = factor_of(sum, covered);
            }
}

double reconcile_weight(const struct reconcile *it, unsigned class, enum reconcile_metric metric,
                        enum reconcile_quantity quantity, double weight)
{
    const struct reconcile_factor *factor = &it->classes[class].sums[metric][quantity].factor;
    return factor->down * (1 + factor->k * (weight - 1));
}

/* Rounds the running sum, so that what one row loses the next one gets. */
static uint64_t give(struct reconcile_sum *sum, long double value)
{
    uint64_t before = sum->rounded;
    sum->given += value;
    long double all = roundl(sum->given);
    sum->rounded = all < (long double)sum->exact ? (uint64_t)all : sum->exact;
    return sum->rounded - before;
}

struct capture_sum reconcile_value(struct reconcile *it, unsigned class,
                                   enum reconcile_metric metric, struct capture_sum seen,
                                   double weight)
{
    struct reconcile_class *place = &it->classes[class];
    double blocks = reconcile_weight(it, class, metric, RECONCILE_BLOCKS, weight);
    double bytes = reconcile_weight(it, class, metric, RECONCILE_BYTES, weight);
    struct capture_sum value;
    value.objects = give(&place->sums[metric][RECONCILE_BLOCKS],
                         (long double)seen.objects * (long double)blocks);
    if (place->sums[metric][RECONCILE_BYTES].exact ==
        place->sums[metric][RECONCILE_BLOCKS].exact * place->size) { /* all have this size */
        value.usable = value.objects * place->size;
        place->sums[metric][RECONCILE_BYTES].rounded += value.usable;
    } else {
        value.usable = give(&place->sums[metric][RECONCILE_BYTES],
                            (long double)seen.usable * (long double)bytes);
    }
    long double *requested = &place->requested[metric], before = roundl(*requested);
    *requested += seen.usable > 0 ? (long double)value.usable * (long double)seen.requested /
                                        (long double)seen.usable
                                  : 0;
    value.requested = (uint64_t)(roundl(*requested) - before);
    return value;
}

struct capture_sum reconcile_rest(const struct reconcile *it, unsigned class,
                                  enum reconcile_metric metric)
{
    const struct reconcile_sum *sums = it->classes[class].sums[metric];
    struct capture_sum rest = {0};
    if (sums[RECONCILE_BLOCKS].exact > sums[RECONCILE_BLOCKS].rounded)
        rest.objects = sums[RECONCILE_BLOCKS].exact - sums[RECONCILE_BLOCKS].rounded;
    if (sums[RECONCILE_BYTES].exact > sums[RECONCILE_BYTES].rounded)
        rest.usable = sums[RECONCILE_BYTES].exact - sums[RECONCILE_BYTES].rounded;
    rest.requested = rest.usable; /* what was asked for is not known */
    return rest;
}

double reconcile_live_rest(const struct reconcile *it, unsigned class)
{
    const struct reconcile_sum *sum = &it->classes[class].sums[RECONCILE_LIVE][RECONCILE_BYTES];
    double unseen = sum->estimate - sum->seen;
    double given = sum->factor.down * (sum->seen + sum->factor.k * unseen);
    return (double)sum->exact > given ? (double)sum->exact - given : 0;
}
