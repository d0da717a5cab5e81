/* SPDX-License-Identifier: MIT */
/* What tests of profiles share. */
#ifndef TOOL_PROFILES_H
#define TOOL_PROFILES_H

#include "tests/unit/unit.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

/* Reads bytes in memory, from a copy, so that AddressSanitizer sees their end. */
static inline bool read_text(struct profile *profile, const char *text, size_t size, const char *at)
{
    struct read_error error = {0};
    char *copy = malloc(size + 1);
    assert(copy != NULL);
    memcpy(copy, text, size);
    copy[size] = '\0';
    struct read_input input = {.name = "x", .bytes = copy, .size = size, .options = {.at = at}};
    profile_start(profile);
    bool done = profile_read(profile, &input, &error);
    assert(done || error.reason[0] != '\0');
    assert(!profile->failed);
    free(copy);
    return done;
}

/* Of a column. */
static inline int64_t profile_sum(const struct profile *profile, const char *type)
{
    int column = profile_type_named(profile, type);
    int64_t total = 0;
    assert(column >= 0);
    for (size_t i = 0; i < profile->samples.count; i++)
        total += profile->samples.values[column][i];
    return total;
}

#endif
