/* SPDX-License-Identifier: MIT */
/* See lib/heap/scale.h. */
#include "lib/heap/scale.h"

#include <string.h>

#include "lib/heap/track.h"

uint64_t scale_round(double value)
{
    return value < 0x1p64 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

static struct fit_counts objects_of(const struct track_row *row)
{
    return (struct fit_counts){row->allocated.objects, row->live.objects, row->peak.objects};
}

static struct fit_counts usable_of(const struct track_row *row)
{
    return (struct fit_counts){row->allocated.usable, row->live.usable, row->peak.usable};
}

struct adding {
    struct scale *scale;
    double peak_bytes; /* estimated from the sites */
};

static void add_row(void *context, const struct track_row *row)
{
    struct adding *adding = context;
    uint64_t blocks = row->allocated.objects;
    fit_add(&adding->scale->objects[row->class], objects_of(row), blocks, row->weight);
    if (row->class == ACCOUNT_LARGE)
        fit_add(&adding->scale->large_bytes, usable_of(row), blocks, row->weight);
    adding->peak_bytes += (double)row->peak.usable * row->weight;
}

/* The estimate of the sites. */
static uint64_t peak_in_sites(const struct fit *fit)
{
    const struct fit_cell *both = &fit->cells[FIT_BOTH], *only = &fit->cells[FIT_PEAK_ONLY];
    return scale_round(both->seen + both->unseen + only->seen + only->unseen);
}

static void solve(struct fit *fit, struct fit_counts exact, bool in_sites)
{
    if (in_sites)
        exact.peak = peak_in_sites(fit);
    fit_solve(fit, exact, track_covered());
}

void scale_prepare(struct scale *scale, const struct account *account)
{
    struct adding adding = {.scale = scale};
    memset(scale, 0, sizeof *scale);
    totals_peak(account, &scale->peak);
    track_each(add_row, &adding);
    /* With other threads running, the sites may miss some of it; no account is above the peak. */
    bool in_sites = scale->peak.in_sites && adding.peak_bytes >= (double)scale->peak.bytes;
    for (unsigned class = 0; class < ACCOUNT_ROWS; class ++) {
        const struct account_sum *sum = &account->classes[class];
        uint64_t peak = scale->peak.classes[class].blocks;
        solve(&scale->objects[class], (struct fit_counts){sum->allocs, account_live(sum), peak},
              in_sites);
    }
    const struct account_sum *large = &account->classes[ACCOUNT_LARGE];
    uint64_t peak = scale->peak.classes[ACCOUNT_LARGE].bytes;
    solve(&scale->large_bytes,
          (struct fit_counts){large->alloc_bytes, account_live_bytes(large), peak}, in_sites);
}

/* Bytes of blocks that have one size. */
static struct fit_counts bytes_of(struct fit_counts objects, uint64_t size)
{
    return (struct fit_counts){objects.allocated * size, objects.live * size, objects.peak * size};
}

/* The same share of the usable bytes as in the recorded blocks. */
static uint64_t requested_of(uint64_t usable, const struct track_sum *seen)
{
    return seen->usable == 0
               ? 0
               : scale_round((double)usable * (double)seen->requested / (double)seen->usable);
}

struct scale_values scale_row(struct scale *scale, const struct track_row *row)
{
    const struct track_sum *all = &row->allocated, *live = &row->live;
    struct fit_counts objects = fit_give(&scale->objects[row->class], objects_of(row), row->weight);
    struct fit_counts usable = row->class == ACCOUNT_LARGE
                                   ? fit_give(&scale->large_bytes, usable_of(row), row->weight)
                                   : bytes_of(objects, row->size);
    struct track_sum freed = {all->objects - live->objects, all->requested - live->requested,
                              all->usable - live->usable};
    struct scale_values values = {
        .freed = {.objects = objects.allocated - objects.live,
                  .usable = usable.allocated - usable.live},
        .live = {.objects = objects.live, .usable = usable.live},
        .peak = {.objects = objects.peak, .usable = usable.peak},
    };
    values.freed.requested = requested_of(values.freed.usable, &freed);
    values.live.requested = requested_of(values.live.usable, live);
    values.peak.requested = requested_of(values.peak.usable, &row->peak);
    uint64_t max = values.freed.requested + values.live.requested;
    if (values.peak.requested > max)
        values.peak.requested = max;
    return values;
}

static void add(struct track_sum *to, uint64_t objects, uint64_t usable)
{
    to->objects += objects;
    to->usable += usable;
    to->requested = to->usable; /* the requested size is not known */
}

struct scale_values scale_rest(const struct scale *scale)
{
    struct scale_values rest = {0};
    for (unsigned class = 0; class < ACCOUNT_ROWS; class ++) {
        struct fit_counts objects = fit_rest(&scale->objects[class]);
        struct fit_counts usable = class == ACCOUNT_LARGE ? fit_rest(&scale->large_bytes)
                                                          : bytes_of(objects, class_size(class));
        add(&rest.freed, objects.allocated - objects.live, usable.allocated - usable.live);
        add(&rest.live, objects.live, usable.live);
        add(&rest.peak, objects.peak, usable.peak);
    }
    return rest;
}

struct track_sum scale_peak(const struct scale *scale, unsigned class)
{
    uint64_t objects = scale->objects[class].exact.peak;
    uint64_t usable =
        class == ACCOUNT_LARGE ? scale->large_bytes.exact.peak : objects * class_size(class);
    return (struct track_sum){.objects = objects, .usable = usable};
}
