/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/spread.h. Classes are made once for a profile, from its counted totals; samples
 * then find theirs by size. What is kept for a site is the sums that the formula needs, which add
 * up over stacks; the variance is worked out when a row is shown.
 */
#include "tool/report/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 256 }; /* memoir has 55, jemalloc some 230 */

struct size_class {
    int64_t size; /* of a block; LARGE */
    double unseen, raw;
    double value; /* of its sites */
    double rest;  /* not sampled */
    double more;  /* the same in the sizes next to it */
};

static const int64_t LARGE = INT64_MAX;

/* What one sample tells: the variance of its value, the part of the value that was not seen, and
 * the variance for each time that a recorded block was counted. */
struct told {
    double raw, unseen, block;
};

static bool clock_start(struct spread_classes *classes, const struct profile *profile, int type,
                        int partner);
static struct told told_of(const struct spread_sample *sample);
static size_t classes_make(struct size_class *list, uint16_t *class_of,
                           const struct profile *profile, int type, int partner);
static size_t classes_find(struct size_class *list, size_t *count, int64_t size);
static int64_t size_of(const struct profile *profile, uint32_t label_set);
static void classes_share(struct size_class *list, size_t count);
static int size_order(const void *left, const void *right);
static int class_order(const void *left, const void *right);
static void classes_keep(struct spread_classes *classes, const struct size_class *list,
                         size_t count, const struct profile *profile);

struct spread_sample spread_sample(const struct profile *profile, int type, int partner, size_t row)
{
    const struct profile_samples *samples = &profile->samples;
    struct spread_sample sample = {.weight = 1};
    if (type < 0)
        return sample;
    sample.timed = profile_type_timed(profile, (unsigned)type);
    sample.value = (double)samples->values[type][row];
    sample.objects = partner >= 0 ? (double)samples->values[partner][row] : sample.value;
    if (samples->weights)
        sample.weight = profile_weight(profile, (unsigned)type, row);
    if (samples->scales &&
        profile_type_blocks(profile_text(profile, profile->type[type].name)) == BLOCKS_ALLOCATED)
        sample.repeats = (double)samples->scales[row].repeats;
    return sample;
}

bool spread_start(struct spread_classes *classes, const struct profile *profile, int type,
                  int partner)
{
    struct size_class list[CLASSES_MAX];
    size_t sets = profile->label_sets.count;
    *classes = (struct spread_classes){0};
    if (type >= 0 && profile_type_timed(profile, (unsigned)type))
        return clock_start(classes, profile, type, partner);
    if (!profile->counted || !profile->samples.weights || type < 0)
        return true;
    classes->of_set = calloc(sets + 1, sizeof *classes->of_set);
    classes->more = calloc(sets + 1, sizeof *classes->more);
    uint16_t *class_of = calloc(sets + 1, sizeof *class_of);
    bool ok = classes->of_set && classes->more && class_of;
    if (ok) {
        size_t count = classes_make(list, class_of, profile, type, partner);
        classes_share(list, count);
        qsort(list, count, sizeof *list, class_order);
        classes_keep(classes, list, count, profile);
    }
    free(class_of);
    return ok;
}

/* All samples of a clock are one class. */
static bool clock_start(struct spread_classes *classes, const struct profile *profile, int type,
                        int partner)
{
    double raw = 0;
    size_t sets = profile->label_sets.count + 1;
    for (size_t i = 0; i < profile->samples.count; i++) {
        struct spread_sample sample = spread_sample(profile, type, partner, i);
        struct told told = told_of(&sample);
        classes->unseen[0] += told.unseen;
        raw += told.raw;
    }
    classes->root[0] = sqrt(raw);
    if (classes->unseen[0] <= 0)
        return true;
    classes->of_set = malloc(sets);
    if (classes->of_set)
        memset(classes->of_set, 1, sets);
    return classes->of_set != NULL;
}

static struct told told_of(const struct spread_sample *sample)
{
    double seen = fabs(sample->objects) / sample->weight;
    double repeats = sample->repeats > 1 ? sample->repeats : 1;
    struct told told = {0};
    if (sample->timed && sample->objects != 0) {
        told.unseen = sample->value;
        told.raw = sample->value * sample->value / fabs(sample->objects);
        told.block = told.raw / fabs(sample->objects);
        return told;
    }
    if (sample->weight <= 1 || seen <= 0)
        return told;
    told.unseen = sample->value * (1 - 1 / sample->weight);
    told.raw = sample->value * told.unseen / seen * repeats;
    told.block = told.raw / seen;
    return told;
}

/* Sums by class; `class_of` tells the number + 1 of a label set's. */
static size_t classes_make(struct size_class *list, uint16_t *class_of,
                           const struct profile *profile, int type, int partner)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t set = profile->samples.label_sets[i];
        struct spread_sample sample = spread_sample(profile, type, partner, i);
        struct told told = told_of(&sample);
        if (sample.value <= 0)
            continue;
        if (class_of[set] == 0)
            class_of[set] = (uint16_t)(classes_find(list, &count, size_of(profile, set)) + 1);
        if (class_of[set] > CLASSES_MAX)
            continue;
        struct size_class *place = &list[class_of[set] - 1];
        place->raw += told.raw;
        place->unseen += told.unseen;
        place->value += told.raw > 0 ? sample.value : 0;
        place->rest += profile_not_sampled(profile, set) ? sample.value : 0;
    }
    return count;
}

static size_t classes_find(struct size_class *list, size_t *count, int64_t size)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i].size == size)
            return i;
    if (*count == CLASSES_MAX)
        return CLASSES_MAX;
    list[*count] = (struct size_class){.size = size};
    return (*count)++;
}

static int64_t size_of(const struct profile *profile, uint32_t label_set)
{
    const struct profile_label *label = profile_label_of(profile, label_set, LABEL_BLOCK_BYTES);
    return label && label->text == 0 ? label->number : LARGE;
}

/* What was not sampled may belong to sites with the next sizes: half to either side. */
static void classes_share(struct size_class *list, size_t count)
{
    qsort(list, count, sizeof *list, size_order);
    for (size_t i = 0; i < count; i++) {
        size_t below = i, above = i;
        if (list[i].rest <= 0)
            continue;
        while (below > 0 && list[below].raw <= 0)
            below--;
        while (above + 1 < count && list[above].raw <= 0)
            above++;
        bool is_below = list[below].raw > 0, is_above = list[above].raw > 0;
        double each = list[i].rest / (is_below && is_above ? 2 : 1);
        list[below].more += is_below ? each : 0;
        list[above].more += is_above ? each : 0;
    }
}

static int size_order(const void *left, const void *right)
{
    const struct size_class *a = left, *b = right;
    return (a->size > b->size) - (a->size < b->size);
}

static int class_order(const void *left, const void *right)
{
    const struct size_class *a = left, *b = right;
    return (b->raw > a->raw) - (b->raw < a->raw);
}

/* The classes that matter most are told apart. */
static void classes_keep(struct spread_classes *classes, const struct size_class *list,
                         size_t count, const struct profile *profile)
{
    for (unsigned i = 0; i < SPREAD_CLASSES && i < count; i++) {
        classes->unseen[i] = list[i].unseen;
        classes->root[i] = sqrt(list[i].raw);
    }
    for (uint32_t set = 0; set < profile->label_sets.count; set++) {
        int64_t size = size_of(profile, set);
        for (unsigned i = 0; i < count; i++) {
            if (list[i].size != size)
                continue;
            if (i < SPREAD_CLASSES && list[i].unseen > 0)
                classes->of_set[set] = (uint8_t)(i + 1);
            classes->more[set] = (float)(list[i].value > 0 ? list[i].more / list[i].value : 0);
            break;
        }
    }
}

void spread_free(struct spread_classes *classes)
{
    free(classes->of_set);
    free(classes->more);
    classes->of_set = NULL;
    classes->more = NULL;
}

struct spread spread_of(const struct spread_classes *classes, const struct spread_sample *sample,
                        uint32_t label_set, double share)
{
    struct spread spread = {0};
    struct told told = told_of(sample);
    if (told.raw <= 0 || share == 0)
        return spread;
    unsigned class = classes->of_set ? classes->of_set[label_set] : 0;
    /* A part of its blocks, each with all of its variance, and with its share of `more`. */
    double more = classes->more ? 1 + (double)classes->more[label_set] : 1;
    double raw = told.raw * fabs(share) * more;
    spread.sampled = fabs(sample->value * share);
    spread.more = spread.sampled * (more - 1);
    spread.raw = raw * more;
    spread.block = told.block * more * more;
    if (class > 0) {
        double root = classes->root[class - 1], part = share / classes->unseen[class - 1];
        spread.share[class - 1] = (float)(told.unseen * more * part * root);
        spread.part[class - 1] = (float)(raw / root);
    }
    return spread;
}

void spread_add(struct spread *sum, const struct spread *more)
{
    if (more->raw <= 0)
        return;
    sum->raw += more->raw;
    sum->sampled += more->sampled;
    sum->more += more->more;
    sum->block = fmax(sum->block, more->block);
    for (unsigned i = 0; i < SPREAD_CLASSES; i++) {
        sum->share[i] += more->share[i];
        sum->part[i] += more->part[i];
    }
}

double spread_variance(const struct spread *sum)
{
    static const double few = 1.5, deviations = 1.96; /* spread.h: found by tests/tool/spread.c */
    double variance = sum->raw;
    if (sum->raw <= 0)
        return 0;
    for (unsigned i = 0; i < SPREAD_CLASSES; i++)
        variance += (double)sum->share[i] * ((double)sum->share[i] - 2 * (double)sum->part[i]);
    double error = sqrt(fmax(variance, 0) + few * sum->block) + sum->more / deviations;
    return error * error;
}
