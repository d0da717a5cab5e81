/* SPDX-License-Identifier: MIT */
/* See tool/report/spread.h. */
#include "tool/report/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 256 };

struct class
{
    int64_t size;
    double unseen, raw;
};

static int64_t size_of(const struct profile *profile, uint32_t label_set)
{
    const struct profile_label *label = profile_label_of(profile, label_set, "bytes");
    return label && label->text == 0 ? label->number : 0; /* 0: large */
}

struct spread_sample spread_sample(const struct profile *profile, int type, int partner, size_t row)
{
    const struct profile_samples *samples = &profile->samples;
    struct spread_sample sample = {.weight = 1};
    if (type < 0)
        return sample;
    sample.value = (double)samples->values[type][row];
    sample.objects = partner >= 0 ? (double)samples->values[partner][row] : sample.value;
    if (samples->weights)
        sample.weight = profile_weight(profile, (unsigned)type, row);
    if (samples->scales &&
        strncmp(profile_text(profile, profile->type[type].name), "alloc_", 6) == 0)
        sample.repeats = (double)samples->scales[row].repeats;
    return sample;
}

/* The variance of one sample's value, and how much of it was not seen. */
static double raw_of(const struct spread_sample *sample, double *unseen)
{
    double seen = fabs(sample->objects) / sample->weight;
    *unseen = 0;
    if (sample->weight <= 1 || seen <= 0)
        return 0;
    *unseen = sample->value * (1 - 1 / sample->weight);
    return sample->value * *unseen / seen * (sample->repeats > 1 ? sample->repeats : 1);
}

static int class_order(const void *left, const void *right)
{
    const struct class *a = left, *b = right;
    return (b->raw > a->raw) - (b->raw < a->raw);
}

static size_t classes_find(struct class *list, size_t *count, int64_t size)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i].size == size)
            return i;
    if (*count == CLASSES_MOST)
        return CLASSES_MOST;
    list[*count] = (struct class){.size = size};
    return (*count)++;
}

bool spread_start(struct spread_classes *classes, const struct profile *profile, int type,
                  int partner)
{
    struct class list[CLASSES_MOST];
    size_t count = 0, sets = profile->label_sets.count;
    *classes = (struct spread_classes){0};
    if (!profile->counted || !profile->samples.weights || type < 0)
        return true;
    classes->of_set = calloc(sets + 1, 1);
    uint16_t *class_of = calloc(sets + 1, sizeof *class_of); /* number + 1 */
    for (size_t i = 0; i < profile->samples.count && classes->of_set && class_of; i++) {
        uint32_t set = profile->samples.label_sets[i];
        struct spread_sample sample = spread_sample(profile, type, partner, i);
        double unseen, raw = raw_of(&sample, &unseen);
        if (raw <= 0)
            continue;
        if (class_of[set] == 0)
            class_of[set] = (uint16_t)(classes_find(list, &count, size_of(profile, set)) + 1);
        if (class_of[set] > CLASSES_MOST)
            continue;
        list[class_of[set] - 1].raw += raw;
        list[class_of[set] - 1].unseen += unseen;
    }
    bool right = classes->of_set && class_of;
    free(class_of);
    qsort(list, count, sizeof *list, class_order);
    for (unsigned i = 0; i < SPREAD_CLASSES && i < count; i++) {
        classes->unseen[i] = list[i].unseen;
        classes->root[i] = sqrt(list[i].raw);
    }
    for (size_t set = 0; set < sets && right; set++)
        for (unsigned i = 0; i < SPREAD_CLASSES && i < count; i++)
            if (list[i].unseen > 0 && size_of(profile, (uint32_t)set) == list[i].size)
                classes->of_set[set] = (uint8_t)(i + 1);
    return right;
}

void spread_free(struct spread_classes *classes)
{
    free(classes->of_set);
    classes->of_set = NULL;
}

struct spread spread_of(const struct spread_classes *classes, const struct spread_sample *sample,
                        uint32_t label_set, double share)
{
    struct spread spread = {0};
    double unseen, raw = raw_of(sample, &unseen);
    if (raw <= 0 || share == 0)
        return spread;
    unsigned class = classes->of_set ? classes->of_set[label_set] : 0;
    spread.raw = raw * fabs(share); /* a part of its blocks, each with all of its variance */
    spread.sampled = fabs(sample->value * share);
    if (class > 0) {
        double root = classes->root[class - 1];
        spread.share[class - 1] = (float)(unseen * share / classes->unseen[class - 1] * root);
        spread.part[class - 1] = (float)(spread.raw / root);
    }
    return spread;
}

void spread_add(struct spread *sum, const struct spread *more)
{
    if (more->raw <= 0)
        return;
    sum->raw += more->raw;
    sum->sampled += more->sampled;
    for (unsigned i = 0; i < SPREAD_CLASSES; i++) {
        sum->share[i] += more->share[i];
        sum->part[i] += more->part[i];
    }
}

double spread_variance(const struct spread *sum)
{
    static const double few = 1.5;
    double variance = sum->raw;
    if (sum->raw <= 0)
        return 0;
    for (unsigned i = 0; i < SPREAD_CLASSES; i++)
        variance += (double)sum->share[i] * ((double)sum->share[i] - 2 * (double)sum->part[i]);
    double unit = sum->raw / sum->sampled;
    return fmax(variance, 0) + few * unit * unit;
}
