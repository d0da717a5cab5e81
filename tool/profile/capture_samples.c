/* SPDX-License-Identifier: MIT */
/* See tool/profile/capture_samples.h. */
#include "tool/profile/capture_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { VALUE_MOST_BITS = 59 /* so that sums of many cannot overflow */ };

/* Of a sample: its row in the snapshot that had one last. */
struct kind {
    double weight;
    uint32_t chain; /* number of its chain */
    uint32_t class; /* in `exact`; 0 without counters */
    uint32_t snapshot;
    float size; /* mean bytes of a recorded block, where those differ; or 0 */
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
    static const char *const types[VALUES][2] = {
        [ALLOC_OBJECTS] = {"alloc_objects", "count"},
        [ALLOC_SPACE] = {"alloc_space", "bytes"},
        [INUSE_OBJECTS] = {"inuse_objects", "count"},
        [INUSE_SPACE] = {"inuse_space", "bytes"},
        [PEAK_OBJECTS] = {"peak_objects", "count"},
        [PEAK_SPACE] = {"peak_space", "bytes"},
        [ALLOC_REQUESTED] = {"alloc_requested", "bytes"},
        [INUSE_REQUESTED] = {"inuse_requested", "bytes"},
        [PEAK_REQUESTED] = {"peak_requested", "bytes"},
    };
    *it = (struct capture_samples){.profile = profile, .raw = raw};
    for (unsigned i = 0; i < VALUES; i++)
        profile_type(profile, types[i][0], types[i][1]);
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
    const uint64_t most = UINT64_C(1) << VALUE_MOST_BITS;
    uint64_t sum = (uint64_t)*value + (more < most ? more : most);
    *value = (int64_t)(sum < most ? sum : most);
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

bool capture_samples_row(struct capture_samples *it, const struct capture_row *row, uint32_t thread,
                         size_t *sample, bool *fresh)
{
    struct profile *profile = it->profile;
    struct profile_samples *samples = &profile->samples;
    unsigned class = 0;
    if (it->counted) {
        class = reconcile_find(&it->exact, row->size);
        reconcile_row(&it->exact, class, row);
    }
    if ((!it->target && row->live.objects == 0 && row->live.usable == 0) ||
        !sample_of_row(it, row, thread, sample, fresh))
        return false;
    *kind_at(it, *sample) = (struct kind){.weight = it->raw ? 1 : row->weight,
                                          .class = class,
                                          .snapshot = it->snapshot,
                                          .size = mean_size(row)};
    if (it->target && !chain_add(it, row, thread, &kind_at(it, *sample)->chain))
        return false;
    if (it->target)
        add_values(it, *sample, row);
    if (it->column > 0 && (samples->history || profile_want_history(profile)))
        samples->history[*sample][it->column - 1] += (float)row->live.usable;
    return !profile->failed;
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
    const double most = (double)(INT64_C(1) << VALUE_MOST_BITS);
    uint64_t *const fields[] = {&seen.objects, &seen.requested, &seen.usable};
    for (unsigned i = 0; i < COUNT_OF(fields) && weight > 1; i++) {
        double value = round((double)*fields[i] * weight);
        *fields[i] = value < most ? (uint64_t)value : UINT64_C(1) << VALUE_MOST_BITS;
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

static void sum_add(struct capture_sum *to, const struct capture_sum *more)
{
    to->objects += more->objects;
    to->requested += more->requested;
    to->usable += more->usable;
}

static void sample_scale(struct capture_samples *it, size_t sample, const struct capture_sum *seen)
{
    struct profile_samples *samples = &it->profile->samples;
    const struct kind *kind = kind_at(it, sample);
    struct capture_sum values[METRICS];
    if (it->counted) {
        struct capture_sum freed = reconcile_freed(&seen[ALLOCATED], &seen[LIVE]);
        values[ALLOCATED] =
            reconcile_value(&it->exact, kind->class, RECONCILE_FREED, freed, kind->weight);
        values[LIVE] =
            reconcile_value(&it->exact, kind->class, RECONCILE_LIVE, seen[LIVE], kind->weight);
        values[PEAK] =
            reconcile_value(&it->exact, kind->class, RECONCILE_PEAK, seen[PEAK], kind->weight);
        sum_add(&values[ALLOCATED], &values[LIVE]);
    } else {
        for (unsigned i = 0; i < METRICS; i++)
            values[i] = estimate(seen[i], kind->weight);
    }
    for (unsigned i = 0; i < METRICS; i++)
        set_sum(samples, sample, i, &values[i]);
}

/* How many blocks one that was seen stands for. */
static double stands_for(const struct capture_samples *it, const struct kind *kind,
                         enum reconcile_metric metric)
{
    return it->counted
               ? reconcile_weight(&it->exact, kind->class, metric, RECONCILE_BLOCKS, kind->weight)
               : kind->weight;
}

/* Without the columns all weights are 1. */
static void set_weights(struct capture_samples *it, size_t sample, const struct capture_sum *seen)
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
    double freed = stands_for(it, kind, RECONCILE_FREED);
    double live = stands_for(it, kind, RECONCILE_LIVE), all = (double)seen[ALLOCATED].objects;
    double share = all > 0 ? (double)seen[LIVE].objects / all : 0;
    samples->weights[sample] = (float)(freed + share * (live - freed));
    if (samples->scales)
        samples->scales[sample] = (struct profile_scale){
            (float)live, (float)stands_for(it, kind, RECONCILE_PEAK),
            chain_length((struct chain *)it->chains.items + kind->chain), kind->size};
}

static void target_scale(struct capture_samples *it)
{
    const struct kind *kinds = it->kinds.items;
    for (size_t i = 0; i < it->kinds.count && !it->profile->failed; i++) {
        if (kinds[i].snapshot != it->snapshot)
            continue;
        struct capture_sum seen[METRICS];
        for (unsigned metric = 0; metric < METRICS; metric++)
            seen[metric] = seen_at(&it->profile->samples, i, metric);
        sample_scale(it, i, seen);
        set_weights(it, i, seen);
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
                (float)(it->counted ? reconcile_weight(&it->exact, kinds[i].class, RECONCILE_LIVE,
                                                       RECONCILE_BYTES, kinds[i].weight)
                                    : kinds[i].weight);
}

/* What no sample stands for, by size. */
static uint32_t rest_labels(struct profile *profile, uint64_t size)
{
    uint32_t bytes = profile_string_of(profile, "bytes");
    struct profile_label labels[] = {{.key = profile_string_of(profile, "thread"),
                                      .text = profile_string_of(profile, PROFILE_NOT_SAMPLED)},
                                     {.key = bytes, .unit = bytes, .number = (int64_t)size}};
    return profile_label_set(profile, labels, size > 0 ? 2 : 1);
}

static void rest_add(struct capture_samples *it, unsigned class)
{
    struct profile *profile = it->profile;
    struct profile_samples *samples = &profile->samples;
    struct capture_sum rests[METRICS] = {0};
    uint64_t size = it->exact.classes[class].size, all = 0;
    double live = it->column > 0 ? reconcile_live_rest(&it->exact, class) : 0;
    size_t sample;
    bool fresh;
    if (it->target) {
        rests[ALLOCATED] = reconcile_rest(&it->exact, class, RECONCILE_FREED);
        rests[LIVE] = reconcile_rest(&it->exact, class, RECONCILE_LIVE);
        rests[PEAK] = reconcile_rest(&it->exact, class, RECONCILE_PEAK);
        sum_add(&rests[ALLOCATED], &rests[LIVE]);
    }
    for (unsigned i = 0; i < METRICS; i++)
        all |= rests[i].objects | rests[i].usable;
    if ((all == 0 && live < 1) ||
        !sample_of(it, (struct key){{UINT64_MAX, size, UINT64_MAX}}, &sample, &fresh))
        return;
    samples->stacks[sample] = capture_samples_named(profile, PROFILE_NOT_SAMPLED);
    samples->label_sets[sample] = rest_labels(profile, size);
    for (unsigned i = 0; i < METRICS; i++)
        add_sum(samples, sample, i, &rests[i]);
    if (samples->weights)
        samples->weights[sample] = 1;
    if (samples->scales)
        samples->scales[sample] = (struct profile_scale){1, 1, 0, 0};
    if (live >= 1 && (samples->history || profile_want_history(profile)))
        samples->history[sample][it->column - 1] = (float)live;
}

void capture_samples_whole(struct capture_samples *it, bool covered)
{
    if (it->counted)
        reconcile_factors(&it->exact, covered);
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
