/* SPDX-License-Identifier: MIT */
/* See tool/profile/block_size.h. */
#include "tool/profile/block_size.h"

#include <string.h>

#include "base/compiler.h"

static uint64_t mean_of(const struct profile *profile, size_t sample, bool *one);

struct block_size block_size_of(const struct profile *profile, size_t sample)
{
    /* Ranges of an eighth of a doubling, where only a mean size is known. */
    enum { STEPS_LOG = 3 };
    const struct profile_label *label =
        profile_label_of(profile, profile->samples.label_sets[sample], LABEL_BLOCK_BYTES);
    if (label && label->text == 0 && label->number > 0) {
        uint64_t bytes = (uint64_t)label->number;
        return (struct block_size){bytes, bytes, bytes};
    }
    bool one = false;
    uint64_t bytes = mean_of(profile, sample, &one);
    if (bytes == 0 || one)
        return (struct block_size){bytes, bytes, bytes};
    unsigned log = 63U - (unsigned)__builtin_clzll(bytes);
    uint64_t step = UINT64_C(1) << (log > STEPS_LOG ? log - STEPS_LOG : 0);
    uint64_t min = bytes - bytes % step;
    return (struct block_size){bytes, min, min + (step - 1)};
}

/* The mean by the columns that count most blocks of the sample, and whether that is one block. */
static uint64_t mean_of(const struct profile *profile, size_t sample, bool *one)
{
    static const char *const pairs[][2] = {{TYPE_ALLOC_SPACE, TYPE_ALLOC_OBJECTS},
                                           {TYPE_INUSE_SPACE, TYPE_INUSE_OBJECTS},
                                           {TYPE_PEAK_SPACE, TYPE_PEAK_OBJECTS},
                                           {TYPE_SPACE, TYPE_OBJECTS}};
    const struct profile_samples *samples = &profile->samples;
    if (samples->scales && samples->scales[sample].size > 0)
        return (uint64_t)samples->scales[sample].size;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        int space = profile_type_named(profile, pairs[i][0]);
        int objects = profile_type_named(profile, pairs[i][1]);
        if (space >= 0 && objects >= 0 && samples->values[objects][sample] > 0 &&
            samples->values[space][sample] > 0) {
            *one = samples->values[objects][sample] == 1;
            return (uint64_t)(samples->values[space][sample] / samples->values[objects][sample]);
        }
    }
    return 0;
}

bool block_size_labels(const struct profile *profile)
{
    const struct profile_label *labels = profile->labels.items;
    for (size_t i = 0; i < profile->labels.count; i++)
        if (labels[i].text == 0 && labels[i].number > 0 &&
            strcmp(profile_text(profile, labels[i].key), LABEL_BLOCK_BYTES) == 0)
            return true;
    return false;
}
