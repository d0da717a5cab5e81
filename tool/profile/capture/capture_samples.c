/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/capture_samples.h. Two sets of keys find a row's sample: one by stack,
 * thread, size and rate, the other by the first three alone, which leads to a chain of samples,
 * since a program may change its rate while blocks of the old one live.
 */
#include "tool/profile/capture/capture_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { VALUE_BITS = 59 }; /* of a value: sums of many samples must not overflow */

/* Of a sample: its row in the snapshot that had one last. */
struct kind {
    double weight;
    uint32_t chain; /* number of its chain */
    uint32_t class; /* in `exact`; 0 without counters */
    uint32_t snapshot;
    float size;    /* mean bytes of a recorded block, where those differ; or 0 */
    float at_peak; /* see `reconcile_at_peak` */
};

enum {
    ALLOC_OBJECTS,
    ALLOC_SPACE,
    INUSE_OBJECTS,
    INUSE_SPACE,
    PEAK_OBJECTS,
    PEAK_SPACE,
    ALLOC_REQUESTED,
    INUSE_REQUESTED,
    PEAK_REQUESTED,
    VALUES,
};

void capture_samples_start(struct capture_samples *it, struct profile *profile, bool raw)
{
    static const struct {
        const char *name;
        enum value_unit unit;
    } types[VALUES] = {
        [ALLOC_OBJECTS] = {TYPE_ALLOC_OBJECTS, UNIT_COUNT},
        [ALLOC_SPACE] = {TYPE_ALLOC_SPACE, UNIT_BYTES},
        [INUSE_OBJECTS] = {TYPE_INUSE_OBJECTS, UNIT_COUNT},
        [INUSE_SPACE] = {TYPE_INUSE_SPACE, UNIT_BYTES},
        [PEAK_OBJECTS] = {TYPE_PEAK_OBJECTS, UNIT_COUNT},
        [PEAK_SPACE] = {TYPE_PEAK_SPACE, UNIT_BYTES},
        [ALLOC_REQUESTED] = {TYPE_ALLOC_REQUESTED, UNIT_BYTES},
        [INUSE_REQUESTED] = {TYPE_INUSE_REQUESTED, UNIT_BYTES},
        [PEAK_REQUESTED] = {TYPE_PEAK_REQUESTED, UNIT_BYTES},
    };
    *it = (struct capture_samples){.profile = profile, .raw = raw};
    for (unsigned i = 0; i < VALUES; i++)
        profile_type(profile, types[i].name, types[i].unit);
    profile->default_type = INUSE_SPACE;
}

void capture_samples_free(struct capture_samples *it)
{
    keys_free(&it->rows);
    keys_free(&it->owners);
    free(it->kinds.items);
    free(it->chains.items);
}

void capture_samples_snapshot(struct capture_samples *it, bool target, unsigned column)
{
    it->snapshot++;
    it->target = target;
    it->column = column;
    it->counted = false;
    reconcile_start(&it->exact);
}

void capture_samples_class(struct capture_samples *it, const struct capture_class *class)
{
    if (it->raw)
        return;
    it->counted = true;
    reconcile_class(&it->exact, class);
}

/* Where the numbers of a metric are. */
enum metric { ALLOCATED, LIVE, PEAK, METRICS };
static const unsigned columns[METRICS][3] = {
    [ALLOCATED] = {ALLOC_OBJECTS, ALLOC_REQUESTED, ALLOC_SPACE},
    [LIVE] = {INUSE_OBJECTS, INUSE_REQUESTED, INUSE_SPACE},
    [PEAK] = {PEAK_OBJECTS, PEAK_REQUESTED, PEAK_SPACE},
};

static void add(int64_t *value, uint64_t more)
{
    const uint64_t max = UINT64_C(1) << VALUE_BITS;
    uint64_t sum = (uint64_t)*value + (more < max ? more : max);
    *value = (int64_t)(sum < max ? sum : max);
}

static void add_sum(struct profile_samples *samples, size_t sample, enum metric metric,
                    const struct capture_sum *sum)
{
    add(&samples->values[columns[metric][0]][sample], sum->objects);
    add(&samples->values[columns[metric][1]][sample], sum->requested);
    add(&samples->values[columns[metric][2]][sample], sum->usable);
}

/* What was seen. */
static void add_values(struct capture_samples *it, size_t sample, const struct capture_row *row)
{
    struct profile_samples *samples = &it->profile->samples;
    add_sum(samples, sample, ALLOCATED, &row->allocated);
    add_sum(samples, sample, LIVE, &row->live);
    add_sum(samples, sample, PEAK, &row->peak);
    for (unsigned i = 0; i < FORMAT_LIVES; i++) {
        if (row->lives[i] == 0 || (!samples->lives && !profile_want_lives(it->profile)))
            continue;
        uint64_t sum = samples->lives[sample][i] + row->lives[i];
        samples->lives[sample][i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    }
    it->largest_rate = row->rate > it->largest_rate ? row->rate : it->largest_rate;
}

/* Large blocks of one stack are rows by ranges of their size. A row's mean size lies in its range,
 * so a part of its binary digits tells it from the others, in this snapshot and in the next. */
static uint64_t range_of(const struct capture_row *row)
{
    enum { DIGITS = 5 };
    if (row->size > 0 || row->allocated.objects == 0)
        return 0;
    uint64_t mean = row->allocated.usable / row->allocated.objects | 1 << DIGITS;
    unsigned log = 63u - (unsigned)__builtin_clzll(mean);
    return (uint64_t)log << DIGITS | (mean >> (log - DIGITS) & ((1 << DIGITS) - 1));
}

/* Blocks that are resized in place are counted again and again by one stack and thread: in the row
 * of their size if they are small, in any row of large ones. */
struct chain {
    uint64_t events, again;
};

/* How often a recorded block was counted, on average. */
static float chain_length(const struct chain *chain)
{
    uint64_t blocks = chain->events > chain->again ? chain->events - chain->again : 1;
    return (float)chain->events / (float)blocks;
}

static bool chain_add(struct capture_samples *it, const struct capture_row *row, uint32_t thread,
                      uint32_t *number)
{
    bool fresh;
    *number = keys_add(&it->owners, (struct key){{thread, row->stack, row->size}}, &fresh);
    if (*number == KEYS_NONE ||
        (fresh && !profile_list_add(it->profile, &it->chains, sizeof(struct chain)))) {
        it->profile->failed = true;
        return false;
    }
    struct chain *chain = (struct chain *)it->chains.items + *number;
    chain->events += row->allocated.objects;
    chain->again += row->again;
    return true;
}

static struct kind *kind_at(const struct capture_samples *it, size_t sample)
{
    return (struct kind *)it->kinds.items + sample;
}

/* The sample of a key, made if it is new. False when memory is out. */
static bool sample_of(struct capture_samples *it, struct key key, size_t *sample, bool *fresh)
{
    struct profile *profile = it->profile;
    *sample = keys_add(&it->rows, key, fresh);
    if (*sample == KEYS_NONE)
        profile->failed = true;
    else if (*fresh && profile_list_add(profile, &it->kinds, sizeof(struct kind)))
        *sample = profile_sample(profile, 0, 0);
    return !profile->failed && *sample < profile->samples.count;
}

static bool sample_of_row(struct capture_samples *it, const struct capture_row *row,
                          uint32_t thread, size_t *sample, bool *fresh)
{
    struct key key = {{(uint64_t)thread << 32 | row->stack, row->size ^ range_of(row) << 32,
                       (uint64_t)row->rate}};
    if (!sample_of(it, key, sample, fresh))
        return false;
    const struct kind *kind = kind_at(it, *sample);
    if (kind->snapshot != it->snapshot || kind->weight == row->weight)
        return true;
    /* Two rows of one range are told apart by their weights. */
    uint64_t bits;
    memcpy(&bits, &row->weight, sizeof bits);
    key.words[2] ^= bits;
    return sample_of(it, key, sample, fresh);
}

/* Kept, since blocks and bytes are scaled by different factors: their quotient is not the size. */
static float mean_size(const struct capture_row *row)
{
    return row->size == 0 && row->allocated.objects > 0
               ? (float)row->allocated.usable / (float)row->allocated.objects
               : 0;
}

/* The row's live bytes join those that its sample has already of this moment. */
static void history_add(struct capture_samples *it, size_t sample, const struct capture_row *row)
{
    struct profile_samples *samples = &it->profile->samples;
    if (it->column == 0 || (!samples->history && !profile_want_history(it->profile)))
        return;
    struct kind *kind = kind_at(it, sample);
    float *live = &samples->history[sample][it->column - 1], more = (float)row->live.usable;
    float at_peak = (float)reconcile_at_peak(&row->live, &row->peak);
    *live += more;
    kind->at_peak += *live > 0 ? (at_peak - kind->at_peak) * more / *live : 0;
}

bool capture_samples_row(struct capture_samples *it, const struct capture_row *row, uint32_t thread,
                         size_t *sample, bool *fresh)
{
    unsigned class = it->counted ? reconcile_find(&it->exact, row->size) : 0;
    if (it->counted && !it->target) { /* those of the target are added by sample */
        struct reconcile_sums seen = {row->allocated, row->live, row->peak};
        reconcile_add(&it->exact, class, &seen, row->weight);
    }
    if ((!it->target && row->live.objects == 0 && row->live.usable == 0) ||
        !sample_of_row(it, row, thread, sample, fresh))
        return false;
    float at_peak = kind_at(it, *sample)->at_peak;
    *kind_at(it, *sample) = (struct kind){.weight = it->raw ? 1 : row->weight,
                                          .class = class,
                                          .snapshot = it->snapshot,
                                          .size = mean_size(row),
                                          .at_peak = at_peak};
    if (it->target && !chain_add(it, row, thread, &kind_at(it, *sample)->chain))
        return false;
    if (it->target)
        add_values(it, *sample, row);
    history_add(it, *sample, row);
    return !it->profile->failed;
}

/* ---- from what was seen to what there was ---- */

static struct capture_sum seen_at(const struct profile_samples *samples, size_t sample,
                                  enum metric metric)
{
    return (struct capture_sum){(uint64_t)samples->values[columns[metric][0]][sample],
                                (uint64_t)samples->values[columns[metric][1]][sample],
                                (uint64_t)samples->values[columns[metric][2]][sample]};
}

/* A capture of an older library: estimates. */
static struct capture_sum estimate(struct capture_sum seen, double weight)
{
    const double max = (double)(INT64_C(1) << VALUE_BITS);
    uint64_t *const fields[] = {&seen.objects, &seen.requested, &seen.usable};
    for (unsigned i = 0; i < COUNT_OF(fields) && weight > 1; i++) {
        double value = round((double)*fields[i] * weight);
        *fields[i] = value < max ? (uint64_t)value : UINT64_C(1) << VALUE_BITS;
    }
    return seen;
}

static void set_sum(struct profile_samples *samples, size_t sample, enum metric metric,
                    const struct capture_sum *sum)
{
    for (unsigned i = 0; i < COUNT_OF(columns[metric]); i++)
        samples->values[columns[metric][i]][sample] = 0;
    add_sum(samples, sample, metric, sum);
}

static struct reconcile_sums seen_of(const struct capture_samples *it, size_t sample)
{
    const struct profile_samples *samples = &it->profile->samples;
    return (struct reconcile_sums){seen_at(samples, sample, ALLOCATED),
                                   seen_at(samples, sample, LIVE), seen_at(samples, sample, PEAK)};
}

static void sample_scale(struct capture_samples *it, size_t sample,
                         const struct reconcile_sums *seen)
{
    struct profile_samples *samples = &it->profile->samples;
    const struct kind *kind = kind_at(it, sample);
    struct reconcile_sums values;
    if (it->counted)
        values = reconcile_give(&it->exact, kind->class, seen, kind->weight);
    else
        values = (struct reconcile_sums){estimate(seen->allocated, kind->weight),
                                         estimate(seen->live, kind->weight),
                                         estimate(seen->peak, kind->weight)};
    set_sum(samples, sample, ALLOCATED, &values.allocated);
    set_sum(samples, sample, LIVE, &values.live);
    set_sum(samples, sample, PEAK, &values.peak);
}

/* Without the columns all weights are 1. */
static void set_weights(struct capture_samples *it, size_t sample,
                        const struct reconcile_sums *seen)
{
    struct profile *profile = it->profile;
    struct profile_samples *samples = &profile->samples;
    const struct kind *kind = kind_at(it, sample);
    if (kind->weight > 1 && !samples->weights && profile_want_weights(profile) &&
        (!it->counted || profile_want_scales(profile)))
        for (size_t i = 0; i < samples->count; i++) {
            samples->weights[i] = 1;
            if (samples->scales)
                samples->scales[i] = (struct profile_scale){1, 1, 0, 0};
        }
    if (!samples->weights || profile->failed)
        return;
    struct fit_values weights = {kind->weight, kind->weight, kind->weight};
    if (it->counted)
        weights = reconcile_weights(&it->exact, kind->class, seen, kind->weight);
    samples->weights[sample] = (float)weights.allocated;
    if (samples->scales)
        samples->scales[sample] = (struct profile_scale){
            (float)weights.live, (float)weights.peak,
            chain_length((struct chain *)it->chains.items + kind->chain), kind->size};
}

static void target_scale(struct capture_samples *it)
{
    const struct kind *kinds = it->kinds.items;
    for (size_t i = 0; i < it->kinds.count && !it->profile->failed; i++) {
        if (kinds[i].snapshot != it->snapshot)
            continue;
        struct reconcile_sums seen = seen_of(it, i);
        sample_scale(it, i, &seen);
        set_weights(it, i, &seen);
    }
    it->profile->counted = it->counted;
    uint32_t *comment = it->counted && it->profile->samples.weights
                            ? profile_list_add(it->profile, &it->profile->comments, sizeof *comment)
                            : NULL;
    if (comment)
        *comment = profile_string_of(it->profile, PROFILE_COUNTED);
}

static void history_scale(struct capture_samples *it)
{
    struct profile_samples *samples = &it->profile->samples;
    const struct kind *kinds = it->kinds.items;
    for (size_t i = 0; i < it->kinds.count && samples->history; i++)
        if (kinds[i].snapshot == it->snapshot)
            samples->history[i][it->column - 1] *=
                (float)(it->counted
                            ? reconcile_live_weight(&it->exact, kinds[i].class,
                                                    (double)kinds[i].at_peak, kinds[i].weight)
                            : kinds[i].weight);
}

/* What no sample stands for, by size. */
static uint32_t rest_labels(struct profile *profile, uint64_t size)
{
    uint32_t bytes = profile_string_of(profile, LABEL_BLOCK_BYTES);
    struct profile_label labels[] = {{.key = profile_string_of(profile, "thread"),
                                      .text = profile_string_of(profile, PROFILE_NOT_SAMPLED)},
                                     {.key = bytes, .unit = bytes, .number = (int64_t)size}};
    return profile_label_set(profile, labels, size > 0 ? 2 : 1);
}

static void rest_add(struct capture_samples *it, unsigned class)
{
    struct profile *profile = it->profile;
    struct profile_samples *samples = &profile->samples;
    struct reconcile_sums rest = {0};
    uint64_t size = it->exact.classes[class].size;
    double live = it->column > 0 ? reconcile_live_rest(&it->exact, class) : 0;
    size_t sample;
    bool fresh;
    if (it->target)
        rest = reconcile_rest(&it->exact, class);
    if ((rest.allocated.objects == 0 && rest.allocated.usable == 0 && live < 1) ||
        !sample_of(it, (struct key){{UINT64_MAX, size, UINT64_MAX}}, &sample, &fresh))
        return;
    samples->stacks[sample] = capture_samples_named(profile, PROFILE_NOT_SAMPLED);
    samples->label_sets[sample] = rest_labels(profile, size);
    add_sum(samples, sample, ALLOCATED, &rest.allocated);
    add_sum(samples, sample, LIVE, &rest.live);
    add_sum(samples, sample, PEAK, &rest.peak);
    profile_sample_weigh(profile, sample, 1);
    if (live >= 1 && (samples->history || profile_want_history(profile)))
        samples->history[sample][it->column - 1] = (float)live;
}

/* Rows of one sample count together: its values are made from their sums. */
static void target_add(struct capture_samples *it)
{
    const struct kind *kinds = it->kinds.items;
    for (size_t i = 0; i < it->kinds.count && !it->profile->failed; i++) {
        struct reconcile_sums seen = seen_of(it, i);
        if (kinds[i].snapshot == it->snapshot)
            reconcile_add(&it->exact, kinds[i].class, &seen, kinds[i].weight);
    }
}

void capture_samples_whole(struct capture_samples *it, bool covered)
{
    if (it->counted && it->target)
        target_add(it);
    if (it->counted)
        reconcile_solve(&it->exact, covered);
    if (it->column > 0)
        history_scale(it);
    if (it->target)
        target_scale(it);
    for (unsigned i = 0; i < it->exact.count && it->counted && !it->profile->failed; i++)
        rest_add(it, i);
}

void capture_samples_peak(struct capture_samples *it)
{
    struct profile_samples *samples = &it->profile->samples;
    for (unsigned i = 0; i < COUNT_OF(columns[0]) && samples->count > 0; i++)
        memcpy(samples->values[columns[LIVE][i]], samples->values[columns[PEAK][i]],
               samples->count * sizeof *samples->values[0]);
    for (size_t i = 0; i < samples->count && samples->scales; i++)
        samples->scales[i].live = samples->scales[i].peak;
}

uint32_t capture_samples_named(struct profile *profile, const char *text)
{
    uint32_t name = profile_string_of(profile, text);
    struct profile_function function = {.name = name, .system_name = name};
    uint32_t location = profile_named(profile, profile_function(profile, &function), 0, 0);
    return profile_stack(profile, &location, 1);
}
