/* SPDX-License-Identifier: MIT */
/* See tool/profile/estimate.h. */
#include "tool/profile/estimate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/profile/unsample.h"

static const char mark_start[] = "[estimate: sampled every ", mark_end[] = " bytes]";

static bool is_sampled(const struct profile *profile);
static const char *mark_find(const char *text, size_t length, int64_t *period);

const char *estimate_text(const struct profile *profile, char text[ESTIMATE_TEXT])
{
    text[0] = '\0';
    if (is_sampled(profile))
        snprintf(text, ESTIMATE_TEXT, "%s%" PRId64 "%s", mark_start, profile->period, mark_end);
    return text;
}

static bool is_sampled(const struct profile *profile)
{
    return profile->period > 1 && profile->samples.weights &&
           profile_unit(profile, profile->period_type) == UNIT_BYTES;
}

char *estimate_title(const struct profile *profile, const char *title)
{
    char mark[ESTIMATE_TEXT], *whole;
    estimate_text(profile, mark);
    int length = asprintf(&whole, "%s%s%s", title, mark[0] && title[0] ? " " : "", mark);
    return length < 0 ? NULL : whole;
}

char *estimate_command(const struct profile *profile)
{
    return estimate_title(
        profile, profile_text(profile, profile->command ? profile->command : profile->program));
}

void estimate_see(struct profile *profile, const char *text, size_t length)
{
    int64_t period;
    if (profile->period > 0 || !mark_find(text, length, &period))
        return;
    profile->period = period;
    profile->estimated = true;
    profile->period_type = profile_type_make(profile, TYPE_SPACE, UNIT_BYTES);
}

/* Where the mark begins in a text; NULL: it has none. */
static const char *mark_find(const char *text, size_t length, int64_t *period)
{
    const char *at = memmem(text, length, mark_start, sizeof mark_start - 1);
    if (!at)
        return NULL;
    const char *digits = at + sizeof mark_start - 1;
    size_t left = length - (size_t)(digits - text), count = 0;
    *period = 0;
    while (count < left && count < 18 && digits[count] >= '0' && digits[count] <= '9')
        *period = *period * 10 + (digits[count++] - '0');
    bool whole = count > 0 && left - count >= sizeof mark_end - 1 &&
                 memcmp(digits + count, mark_end, sizeof mark_end - 1) == 0;
    return whole && *period > 1 ? at : NULL;
}

void estimate_take(struct profile *profile)
{
    uint32_t *texts[] = {&profile->command, &profile->program};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *text = profile_text(profile, *texts[i]);
        int64_t period;
        const char *mark = mark_find(text, strlen(text), &period);
        char *rest = mark ? strndup(text, (size_t)(mark - text) - (mark > text)) : NULL;
        if (!mark)
            continue;
        if (!rest) {
            profile->failed = true;
            return;
        }
        estimate_see(profile, text, strlen(text));
        *texts[i] = profile_string_of(profile, rest);
        free(rest);
    }
    if (profile->estimated && !profile->samples.weights)
        estimate_weights(profile);
}

void estimate_weights(struct profile *profile)
{
    static const char *const pairs[][2] = {{TYPE_INUSE_OBJECTS, TYPE_INUSE_SPACE},
                                           {TYPE_ALLOC_OBJECTS, TYPE_ALLOC_SPACE},
                                           {TYPE_PEAK_OBJECTS, TYPE_PEAK_SPACE},
                                           {TYPE_OBJECTS, TYPE_SPACE}};
    struct profile_samples *samples = &profile->samples;
    bool counted = false;
    if (profile->kind != PROFILE_HEAP || profile->period <= 1 ||
        profile_unit(profile, profile->period_type) != UNIT_BYTES || !profile_want_weights(profile))
        return;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        counted |= profile_type_named(profile, pairs[i][0]) >= 0 &&
                   profile_type_named(profile, pairs[i][1]) >= 0;
    /* Without counts: a byte in every `period` was seen. */
    for (size_t row = 0; row < samples->count; row++)
        samples->weights[row] = counted ? 1 : (float)profile->period;
    for (size_t i = COUNT_OF(pairs); i-- > 0;) {
        int objects = profile_type_named(profile, pairs[i][0]),
            bytes = profile_type_named(profile, pairs[i][1]);
        for (size_t row = 0; objects >= 0 && bytes >= 0 && row < samples->count; row++)
            if (samples->values[objects][row] != 0)
                samples->weights[row] = (float)unsample_weight(
                    (double)samples->values[objects][row], (double)samples->values[bytes][row],
                    (double)profile->period);
    }
}
