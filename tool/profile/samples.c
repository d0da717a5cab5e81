/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/model.h: types and the columns of samples. A value is a column of its own, and
 * so are weights, lives and the history, which few formats have: a million samples of one column
 * cost 8 MB, not the size of a struct with everything. All columns share one room and grow
 * together.
 */
#include "tool/profile/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"

int profile_type_named(const struct profile *profile, const char *name)
{
    for (unsigned i = 0; i < profile->types; i++)
        if (strcmp(profile_text(profile, profile->type[i].name), name) == 0)
            return (int)i;
    return -1;
}

/* A copy of a column that is there. */
static void *copied(const void *column, size_t count, size_t item_size, bool *ok)
{
    void *copy = column ? malloc((count + 1) * item_size) : NULL;
    if (copy)
        memcpy(copy, column, count * item_size);
    *ok &= copy || !column;
    return copy;
}

bool profile_samples_copy(struct profile_samples *samples)
{
    size_t count = samples->count;
    bool ok = true;
    samples->stacks = copied(samples->stacks, count, sizeof *samples->stacks, &ok);
    samples->label_sets = copied(samples->label_sets, count, sizeof *samples->label_sets, &ok);
    samples->weights = copied(samples->weights, count, sizeof *samples->weights, &ok);
    samples->scales = copied(samples->scales, count, sizeof *samples->scales, &ok);
    samples->lives = copied(samples->lives, count, sizeof *samples->lives, &ok);
    samples->history = copied(samples->history, count, sizeof *samples->history, &ok);
    for (unsigned i = 0; i < PROFILE_TYPES_MAX; i++)
        samples->values[i] = copied(samples->values[i], count, sizeof *samples->values[i], &ok);
    samples->room = count;
    return ok;
}

/* *column has room for `room` items; the new ones are not cleared. */
static bool column_grow(struct profile *profile, void *column, size_t item_size, size_t room)
{
    bool ok = list_resize(column, room, item_size);
    profile->failed |= !ok;
    return ok;
}

/* A column for samples that are there already: of zeros. */
static bool column_start(struct profile *profile, void *column, size_t item_size, size_t room)
{
    void **place = column;
    *place = calloc(room > 0 ? room : 1, item_size);
    profile->failed |= *place == NULL;
    return *place != NULL;
}

unsigned profile_type(struct profile *profile, const char *name, enum value_unit unit)
{
    return profile_type_written(profile, name, value_unit_name(unit));
}

struct profile_type profile_type_make(struct profile *profile, const char *name,
                                      enum value_unit unit)
{
    return (struct profile_type){profile_string_of(profile, name),
                                 profile_string_of(profile, value_unit_name(unit))};
}

enum value_unit profile_unit(const struct profile *profile, struct profile_type type)
{
    return value_unit_find(profile_text(profile, type.unit));
}

unsigned profile_type_written(struct profile *profile, const char *name, const char *unit)
{
    int there = profile_type_named(profile, name);
    struct profile_samples *samples = &profile->samples;
    if (there >= 0)
        return (unsigned)there;
    unsigned type = profile->types;
    if (profile->failed || type == PROFILE_TYPES_MAX ||
        (samples->room > 0 &&
         !column_start(profile, &samples->values[type], sizeof(int64_t), samples->room)))
        return 0;
    profile->type[type] =
        (struct profile_type){profile_string_of(profile, name), profile_string_of(profile, unit)};
    profile->types++;
    return type;
}

/* inuse_objects and inuse_space, samples and cpu, contentions and delay. */
int profile_type_partner(const struct profile *profile, unsigned type)
{
    static const char *const pairs[][2] = {
        {TYPE_ALLOC_OBJECTS, TYPE_ALLOC_SPACE},
        {TYPE_INUSE_OBJECTS, TYPE_INUSE_SPACE},
        {TYPE_PEAK_OBJECTS, TYPE_PEAK_SPACE},
        {TYPE_ALLOC_OBJECTS, TYPE_ALLOC_REQUESTED},
        {TYPE_INUSE_OBJECTS, TYPE_INUSE_REQUESTED},
        {TYPE_PEAK_OBJECTS, TYPE_PEAK_REQUESTED},
        {TYPE_OBJECTS, TYPE_SPACE},
        {TYPE_LOST_OBJECTS, TYPE_LOST_SPACE},
        {TYPE_INDIRECT_OBJECTS, TYPE_INDIRECT_SPACE},
        {TYPE_POSSIBLE_OBJECTS, TYPE_POSSIBLE_SPACE},
        {TYPE_FORGOTTEN_OBJECTS, TYPE_FORGOTTEN_SPACE},
        {TYPE_PINNED_OBJECTS, TYPE_PINNED_SPACE},
        {TYPE_PINNED_OBJECTS, TYPE_PINNED_HELD},
        {TYPE_PINNED_OBJECTS, TYPE_PINNED_SPARSE},
        {TYPE_PINNED_OBJECTS, TYPE_PINNED_ALONE},
        {TYPE_SAMPLES, TYPE_CPU},
        {TYPE_SAMPLES, TYPE_WALL},
        {TYPE_CONTENTIONS, TYPE_DELAY},
        {TYPE_CONDITION_WAITS, TYPE_CONDITION_DELAY},
    };
    const char *name = profile_text(profile, profile->type[type].name);
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        for (unsigned k = 0; k < 2; k++)
            if (strcmp(name, pairs[i][k]) == 0 && profile_type_named(profile, pairs[i][1 - k]) >= 0)
                return profile_type_named(profile, pairs[i][1 - k]);
    return -1;
}

enum type_blocks profile_type_blocks(const char *name)
{
    return strncmp(name, "alloc_", 6) == 0   ? BLOCKS_ALLOCATED
           : strncmp(name, "inuse_", 6) == 0 ? BLOCKS_LIVE
           : strncmp(name, "peak_", 5) == 0  ? BLOCKS_AT_PEAK
                                             : BLOCKS_OTHER;
}

bool profile_type_timed(const struct profile *profile, unsigned type)
{
    const char *name = profile_text(profile, profile->type[type].name);
    return profile->kind != PROFILE_OTHER && profile_type_named(profile, TYPE_SAMPLES) >= 0 &&
           (strcmp(name, TYPE_SAMPLES) == 0 || strcmp(name, TYPE_CPU) == 0 ||
            strcmp(name, TYPE_WALL) == 0);
}

bool profile_type_waited(const struct profile *profile, unsigned type)
{
    static const char *const names[] = {TYPE_CONTENTIONS, TYPE_DELAY, TYPE_CONDITION_WAITS,
                                        TYPE_CONDITION_DELAY};
    const char *name = profile_text(profile, profile->type[type].name);
    size_t i = 0;
    while (i < COUNT_OF(names) && strcmp(name, names[i]) != 0)
        i++;
    return i < COUNT_OF(names);
}

static bool samples_grow(struct profile *profile, size_t room)
{
    struct profile_samples *samples = &profile->samples;
    bool done = column_grow(profile, &samples->stacks, sizeof *samples->stacks, room) &&
                column_grow(profile, &samples->label_sets, sizeof *samples->label_sets, room);
    for (unsigned i = 0; i < profile->types && done; i++)
        done = column_grow(profile, &samples->values[i], sizeof(int64_t), room);
    if (done && samples->weights)
        done = column_grow(profile, &samples->weights, sizeof *samples->weights, room);
    if (done && samples->scales)
        done = column_grow(profile, &samples->scales, sizeof *samples->scales, room);
    if (done && samples->lives)
        done = column_grow(profile, &samples->lives, sizeof *samples->lives, room);
    if (done && samples->history)
        done = column_grow(profile, &samples->history, sizeof *samples->history, room);
    if (done)
        samples->room = room;
    return done;
}

void profile_reserve(struct profile *profile, size_t samples)
{
    if (!profile->failed && samples > profile->samples.room)
        samples_grow(profile, samples);
}

size_t profile_sample(struct profile *profile, uint32_t stack, uint32_t label_set)
{
    struct profile_samples *samples = &profile->samples;
    size_t count = samples->count, more = count < 64 ? 64 : count + count / 2;
    if (profile->failed || (count == samples->room && !samples_grow(profile, more)))
        return 0;
    samples->stacks[count] = stack;
    samples->label_sets[count] = label_set;
    for (unsigned i = 0; i < profile->types; i++)
        samples->values[i][count] = 0;
    if (samples->weights)
        samples->weights[count] = 0;
    if (samples->scales)
        samples->scales[count] = (struct profile_scale){0};
    if (samples->lives)
        memset(samples->lives[count], 0, sizeof samples->lives[count]);
    if (samples->history)
        memset(samples->history[count], 0, sizeof samples->history[count]);
    return samples->count++;
}

void profile_sample_weigh(struct profile *profile, size_t sample, float weight)
{
    struct profile_samples *samples = &profile->samples;
    if (samples->weights)
        samples->weights[sample] = weight;
    if (samples->scales)
        samples->scales[sample] = (struct profile_scale){weight, weight, 0, 0};
}

bool profile_sums_fit(const struct profile *profile)
{
    const uint64_t max = INT64_MAX / 4;
    for (unsigned i = 0; i < profile->types; i++) {
        uint64_t sum = 0;
        for (size_t row = 0; row < profile->samples.count; row++) {
            int64_t value = profile->samples.values[i][row];
            uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
            if (size > max - sum)
                return false;
            sum += size;
        }
    }
    for (unsigned i = 0; i < profile->history_moments && profile->samples.history; i++) {
        double sum = 0;
        for (size_t row = 0; row < profile->samples.count; row++)
            sum += fabs((double)profile->samples.history[row][i]);
        if (!(sum <= (double)max))
            return false;
    }
    return true;
}

static bool want(struct profile *profile, void *column, size_t item_size)
{
    void **place = column;
    return *place != NULL || column_start(profile, column, item_size, profile->samples.room);
}

bool profile_want_weights(struct profile *profile)
{
    return want(profile, &profile->samples.weights, sizeof *profile->samples.weights);
}

bool profile_want_scales(struct profile *profile)
{
    return want(profile, &profile->samples.scales, sizeof *profile->samples.scales);
}

bool profile_not_sampled(const struct profile *profile, uint32_t label_set)
{
    const struct profile_label *thread = profile_label_of(profile, label_set, "thread");
    return thread && strcmp(profile_text(profile, thread->text), PROFILE_NOT_SAMPLED) == 0;
}

bool profile_has_recorded(const struct profile *profile, const char *name)
{
    int type = profile_type_named(profile, name);
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        if (profile->samples.values[type][i] != 0 &&
            !profile_not_sampled(profile, profile->samples.label_sets[i]))
            return true;
    return false;
}

double profile_weight(const struct profile *profile, unsigned type, size_t sample)
{
    const struct profile_samples *samples = &profile->samples;
    const char *name = profile_text(profile, profile->type[type].name);
    double weight = samples->weights ? (double)samples->weights[sample] : 1;
    enum type_blocks blocks = samples->scales ? profile_type_blocks(name) : BLOCKS_OTHER;
    if (blocks == BLOCKS_LIVE)
        weight = (double)samples->scales[sample].live;
    else if (blocks == BLOCKS_AT_PEAK)
        weight = (double)samples->scales[sample].peak;
    return weight > 1 ? weight : 1;
}

bool profile_want_lives(struct profile *profile)
{
    return want(profile, &profile->samples.lives, sizeof *profile->samples.lives);
}

bool profile_want_history(struct profile *profile)
{
    return want(profile, &profile->samples.history, sizeof *profile->samples.history);
}
