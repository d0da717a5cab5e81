/* SPDX-License-Identifier: MIT */
/* See tool/profile/temporary.h. */
#include "tool/profile/temporary.h"

#include <math.h>

#include "tool/profile/unsample.h"

unsigned temporary_classes(const struct profile *profile)
{
    enum { CLASSES_MAX = 6, NS_PER_US = 1000 }; /* below 4^5 us */
    int column = profile_type_named(profile, TYPE_ALLOC_OBJECTS);
    double allocs = 0;
    unsigned classes = 1;
    if (!profile->samples.lives || column < 0)
        return 0;
    for (size_t i = 0; i < profile->samples.count; i++)
        allocs += (double)profile->samples.values[column][i];
    double between_us = (double)profile->duration_ns / NS_PER_US / fmax(allocs, 1);
    /* The class before goes up to 4^(classes - 1) us. */
    while (classes < CLASSES_MAX && ldexp(1, 2 * ((int)classes - 1)) <= 2 * between_us)
        classes++;
    return classes;
}

int64_t temporary_blocks(const struct profile *profile, size_t sample, unsigned classes)
{
    const struct profile_samples *samples = &profile->samples;
    double ended = 0, weight = samples->weights ? (double)samples->weights[sample] : 1;
    for (unsigned i = 0; i < classes; i++)
        ended += samples->lives[sample][i];
    return unsample_round(ended * fmax(weight, 1));
}
