/* SPDX-License-Identifier: MIT */
/* one-thread */
/*
 * Error bars of sites are 95 % bars: 200 random mixes of 4 to 16 sites with 1 to 3 sizes each,
 * small and large, some of which several sites share, are sampled 6 times each, scaled to exact
 * counters and shown in a view. The true value lies within the bar in 93 to 97 of 100 cases, for
 * bytes and for counts, at sites of malloc and of realloc in place, which counts one recorded block
 * again and again. A site that is known exactly has no bar, and totals never have one.
 */
#include "tool/profile/capture/capture.h"
#include "tool/profile/capture/capture_samples.h"
#include "tool/report/report.h"
#include "tool/report/view.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "tests/unit/unit.h"

enum { MIXES = 200, DRAWS = 6, SITES_MAX = 16, SIZES_MAX = 3, RATE = 65536, EXPECTED_MIN = 4 };

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t below(uint64_t bound)
{
    return (uint64_t)(unit_uniform(&state) * (double)bound);
}

/* One size of one site: `blocks`, each of them counted `repeats` times. */
struct part {
    uint64_t size, blocks, repeats;
};

struct site {
    char name[16];
    bool reallocs;
    struct part parts[SIZES_MAX];
    unsigned count;
    double bytes, calls, expected; /* the truth; how many samples there should be */
};

struct mix {
    struct site sites[SITES_MAX];
    unsigned count;
};

static void mix_make(struct mix *mix)
{
    static const uint64_t sizes[] = {16, 48, 112, 256, 1024, 4096, 16384, 40960, 122880, 524288};
    mix->count = 4 + (unsigned)below(SITES_MAX - 3);
    for (unsigned i = 0; i < mix->count; i++) {
        struct site *site = &mix->sites[i];
        *site = (struct site){.reallocs = i % 3 == 2, .count = 1 + (unsigned)below(SIZES_MAX)};
        snprintf(site->name, sizeof site->name, "site%u", i);
        unsigned first = (unsigned)below(COUNT_OF(sizes) - SIZES_MAX + 1);
        for (unsigned k = 0; k < site->count; k++) {
            struct part *part = &site->parts[k];
            /* From a few samples to hundreds. */
            double samples = 4 * exp(unit_uniform(&state) * 5) / site->count;
            part->size = sizes[first + k];
            double picked = -expm1(-(double)part->size / RATE);
            part->blocks = 1 + (uint64_t)(samples / picked);
            part->repeats = site->reallocs ? 1 + below(30) : 1;
            site->calls += (double)(part->blocks * part->repeats);
            site->bytes += (double)(part->blocks * part->repeats * part->size);
            site->expected += (double)part->blocks * picked;
        }
    }
}

/* What a capture of it would have. */
static void mix_record(const struct mix *mix, struct profile *profile)
{
    static struct capture_samples samples;
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    capture_samples_start(&samples, profile, false);
    capture_samples_snapshot(&samples, true, 0);
    for (unsigned i = 0; i < mix->count; i++)
        for (unsigned k = 0; k < mix->sites[i].count; k++) {
            const struct part *part = &mix->sites[i].parts[k];
            uint64_t all = part->blocks * part->repeats;
            struct capture_count count = {all, all * part->size}, none = {0, 0};
            capture_samples_class(
                &samples,
                &(struct capture_class){part->size <= 32768 ? part->size : 0, count, none, none});
        }
    for (unsigned i = 0; i < mix->count; i++)
        for (unsigned k = 0; k < mix->sites[i].count; k++) {
            const struct part *part = &mix->sites[i].parts[k];
            double picked = -expm1(-(double)part->size / RATE);
            struct capture_row row = {.stack = i + 2, .rate = RATE, .weight = 1 / picked};
            uint64_t seen = 0;
            for (uint64_t n = 0; n < part->blocks; n++)
                seen += unit_uniform(&state) < picked;
            uint64_t events = seen * part->repeats;
            if (seen == 0)
                continue;
            row.size = part->size <= 32768 ? part->size : 0;
            row.allocated = (struct capture_sum){events, events * part->size, events * part->size};
            row.again = events - seen;
            size_t sample;
            bool fresh;
            assert(capture_samples_row(&samples, &row, 1, &sample, &fresh) && fresh);
            profile->samples.stacks[sample] = capture_samples_named(profile, mix->sites[i].name);
            uint32_t bytes = profile_string_of(profile, "bytes");
            struct profile_label label = {.key = bytes, .unit = bytes, .number = (int64_t)row.size};
            profile->samples.label_sets[sample] =
                profile_label_set(profile, &label, row.size > 0 ? 1 : 0);
        }
    capture_samples_whole(&samples, true);
    capture_samples_free(&samples);
    assert(!profile->failed && profile->counted);
}

struct coverage {
    unsigned inside, bars, exact;
};

static void site_check(const struct view_row *row, const struct site *site, bool bytes,
                       struct coverage coverage[2])
{
    struct coverage *place = &coverage[site->reallocs];
    double truth = bytes ? site->bytes : site->calls, value = (double)row->self.value;
    double error = view_error_share(row->self.value, row->self.variance) * value;
    if (error < 0.5) {
        assert(fabs(value - truth) < 0.001 * truth + 2);
        place->exact++;
        return;
    }
    place->bars++;
    place->inside += fabs(value - truth) <= error;
}

static void mix_check(const struct mix *mix, const struct profile *profile, bool bytes,
                      struct coverage coverage[2])
{
    struct view view;
    struct view_error error;
    int type = profile_type_named(profile, bytes ? "alloc_space" : "alloc_objects");
    struct view_options options = {.type = (unsigned)type, .by = VIEW_FUNCTION, .frames = VIEW_ALL};
    size_t count;
    double truth = 0;
    assert(view_make(&view, profile, &options, &error));
    struct view_row *rows = view_rows(&view, false, &count);
    for (unsigned i = 0; i < mix->count; i++) {
        truth += bytes ? mix->sites[i].bytes : mix->sites[i].calls;
        if (mix->sites[i].expected < EXPECTED_MIN)
            continue;
        for (size_t k = 0; k < count; k++)
            if (strcmp(view.frames[rows[k].frame].name, mix->sites[i].name) == 0)
                site_check(&rows[k], &mix->sites[i], bytes, coverage);
    }
    assert((double)view.total.value == truth && view.total.variance == 0);
    assert(view.whole.value == view.total.value && view.whole.variance == 0);
    free(rows);
    view_free(&view);
}

int main(void)
{
    static struct mix mix;
    struct coverage coverage[2][2] = {0};
    bool right = true;
    for (unsigned i = 0; i < MIXES; i++) {
        mix_make(&mix);
        for (unsigned k = 0; k < DRAWS; k++) {
            struct profile profile;
            mix_record(&mix, &profile);
            for (unsigned bytes = 0; bytes < 2; bytes++)
                mix_check(&mix, &profile, bytes == 1, coverage[bytes]);
            profile_free(&profile);
        }
    }
    for (unsigned bytes = 0; bytes < 2; bytes++)
        for (unsigned reallocs = 0; reallocs < 2; reallocs++) {
            const struct coverage *one = &coverage[bytes][reallocs];
            double share = 100.0 * one->inside / one->bars;
            printf("%s of %s: %.1f %% of %u bars hold the truth, %u sites are exact\n",
                   bytes ? "bytes" : "counts", reallocs ? "realloc" : "malloc", share, one->bars,
                   one->exact);
            right = right && one->bars > 400 && share >= 93 && share <= 97;
        }
    return right ? 0 : 1;
}
