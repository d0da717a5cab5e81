/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/reconcile.h. Every size has sums of what its rows stand for and what was
 * counted; rows find theirs by bisection. Whether a size was counted in blocks, in bytes or in both
 * decides which fit its rows get. The arithmetic that keeps sums whole is that of base/file/fit.h,
 * which the library uses for its own dumps.
 */
#include "tool/profile/capture/reconcile.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"

void reconcile_start(struct reconcile *it)
{
    it->count = 0;
    memset(it->by_size, 0, sizeof it->by_size);
}

static unsigned class_add(struct reconcile *it, uint64_t size)
{
    if (it->count == RECONCILE_CLASSES_MAX)
        return RECONCILE_CLASSES_MAX - 1; /* no library has that many */
    struct reconcile_class *class = &it->classes[it->count];
    memset(class, 0, sizeof *class);
    class->size = size;
    if (size % RECONCILE_GRANULE == 0 && size <= RECONCILE_SIZE_MAX)
        it->by_size[size / RECONCILE_GRANULE] = (uint8_t)(it->count + 1);
    return it->count++;
}

unsigned reconcile_find(struct reconcile *it, uint64_t size)
{
    if (size % RECONCILE_GRANULE == 0 && size <= RECONCILE_SIZE_MAX) {
        unsigned found = it->by_size[size / RECONCILE_GRANULE];
        return found > 0 ? found - 1 : class_add(it, size);
    }
    for (unsigned i = 0; i < it->count; i++)
        if (it->classes[i].size == size)
            return i;
    return class_add(it, size);
}

static void count_add(struct fit_counts *to, uint64_t allocated, uint64_t live, uint64_t peak)
{
    to->allocated += allocated;
    to->live += live;
    to->peak += peak;
}

void reconcile_class(struct reconcile *it, const struct capture_class *class)
{
    struct reconcile_class *to = &it->classes[reconcile_find(it, class->size)];
    count_add(&to->blocks, class->allocated.blocks, class->live.blocks, class->peak.blocks);
    count_add(&to->bytes, class->allocated.bytes, class->live.bytes, class->peak.bytes);
}

static struct fit_counts blocks_of(const struct reconcile_sums *sums)
{
    return (struct fit_counts){sums->allocated.objects, sums->live.objects, sums->peak.objects};
}

static struct fit_counts bytes_of(const struct reconcile_sums *sums)
{
    return (struct fit_counts){sums->allocated.usable, sums->live.usable, sums->peak.usable};
}

void reconcile_add(struct reconcile *it, unsigned class, const struct reconcile_sums *seen,
                   double weight)
{
    uint64_t blocks = seen->allocated.objects;
    fit_add(&it->classes[class].fit_blocks, blocks_of(seen), blocks, weight);
    fit_add(&it->classes[class].fit_bytes, bytes_of(seen), blocks, weight);
}

static struct fit_counts times(struct fit_counts blocks, uint64_t size)
{
    return (struct fit_counts){blocks.allocated * size, blocks.live * size, blocks.peak * size};
}

void reconcile_solve(struct reconcile *it, bool covered)
{
    for (unsigned i = 0; i < it->count; i++) {
        struct reconcile_class *class = &it->classes[i];
        struct fit_counts bytes = times(class->blocks, class->size);
        class->one_size = memcmp(&bytes, &class->bytes, sizeof bytes) == 0;
        fit_solve(&class->fit_blocks, class->blocks, covered);
        fit_solve(&class->fit_bytes, class->bytes, covered);
    }
}

/* What one that was seen stands for; a row without any has the value that its weight says. */
static double quotient(double value, uint64_t seen, double weight)
{
    return seen > 0 ? value / (double)seen : weight;
}

struct fit_values reconcile_weights(const struct reconcile *it, unsigned class,
                                    const struct reconcile_sums *seen, double weight)
{
    struct fit_counts blocks = blocks_of(seen);
    struct fit_values values = fit_value(&it->classes[class].fit_blocks, blocks, weight);
    return (struct fit_values){quotient(values.allocated, blocks.allocated, weight),
                               quotient(values.live, blocks.live, weight),
                               quotient(values.peak, blocks.peak, weight)};
}

static const struct fit *fit_of_bytes(const struct reconcile_class *class)
{
    return class->one_size ? &class->fit_blocks : &class->fit_bytes;
}

double reconcile_live_weight(const struct reconcile *it, unsigned class, double at_peak,
                             double weight)
{
    return fit_live_weight(fit_of_bytes(&it->classes[class]), at_peak, weight);
}

double reconcile_at_peak(const struct capture_sum *live, const struct capture_sum *peak)
{
    return live->usable > peak->usable ? (double)peak->usable / (double)live->usable : 1;
}

/* Requested bytes are as many of the usable ones as in what was seen. Rounds the running sum. */
static uint64_t requested_give(long double *given, uint64_t usable, uint64_t seen_requested,
                               uint64_t seen_usable)
{
    long double before = roundl(*given);
    if (seen_usable > 0)
        *given += (long double)usable * (long double)seen_requested / (long double)seen_usable;
    return (uint64_t)(roundl(*given) - before);
}

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static void requested_set(struct reconcile_class *class, struct reconcile_sums *sums,
                          const struct reconcile_sums *seen)
{
    const struct capture_sum *all = &seen->allocated, *live = &seen->live, *peak = &seen->peak;
    uint64_t freed =
        requested_give(&class->requested.freed, less(sums->allocated.usable, sums->live.usable),
                       less(all->requested, live->requested), less(all->usable, live->usable));
    sums->live.requested =
        requested_give(&class->requested.live, sums->live.usable, live->requested, live->usable);
    sums->peak.requested =
        requested_give(&class->requested.peak, sums->peak.usable, peak->requested, peak->usable);
    sums->allocated.requested = freed + sums->live.requested;
    if (sums->peak.requested > sums->allocated.requested)
        sums->peak.requested = sums->allocated.requested;
}

static struct reconcile_sums sums_of(struct fit_counts blocks, struct fit_counts bytes)
{
    return (struct reconcile_sums){
        .allocated = {.objects = blocks.allocated, .usable = bytes.allocated},
        .live = {.objects = blocks.live, .usable = bytes.live},
        .peak = {.objects = blocks.peak, .usable = bytes.peak},
    };
}

struct reconcile_sums reconcile_give(struct reconcile *it, unsigned class,
                                     const struct reconcile_sums *seen, double weight)
{
    struct reconcile_class *place = &it->classes[class];
    struct fit_counts blocks = fit_give(&place->fit_blocks, blocks_of(seen), weight);
    struct fit_counts bytes = place->one_size ? times(blocks, place->size)
                                              : fit_give(&place->fit_bytes, bytes_of(seen), weight);
    struct reconcile_sums sums = sums_of(blocks, bytes);
    requested_set(place, &sums, seen);
    return sums;
}

struct reconcile_sums reconcile_rest(const struct reconcile *it, unsigned class)
{
    const struct reconcile_class *place = &it->classes[class];
    struct fit_counts blocks = fit_rest(&place->fit_blocks);
    struct reconcile_sums rest =
        sums_of(blocks, place->one_size ? times(blocks, place->size) : fit_rest(&place->fit_bytes));
    struct capture_sum *const sums[] = {&rest.allocated, &rest.live, &rest.peak};
    for (unsigned i = 0; i < COUNT_OF(sums); i++)
        sums[i]->requested = sums[i]->usable; /* what was asked for is not known */
    return rest;
}

double reconcile_live_rest(const struct reconcile *it, unsigned class)
{
    const struct reconcile_class *place = &it->classes[class];
    double rest = fit_live_rest(fit_of_bytes(place));
    return place->one_size ? rest * (double)place->size : rest;
}
