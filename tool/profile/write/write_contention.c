/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks as text, as servers with gperftools' or Go's profiler answer it: for google-pprof
 * and go tool pprof, with the program. Cycles are nanoseconds. Of a profile of other values, the
 * ones that were asked for take the place of the time.
 */
#include "tool/profile/write/write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/mappings.h"

/* The columns of time and count; count -1: none. */
static void columns_find(const struct profile *profile, unsigned type, int columns[2])
{
    bool waited = profile_type_waited(profile, type);
    int delay = waited ? -1 : profile_type_named(profile, TYPE_DELAY);
    columns[0] = delay >= 0 ? delay : (int)type;
    columns[1] = profile_type_partner(profile, (unsigned)columns[0]);
    enum value_unit unit = profile_unit(profile, profile->type[columns[0]]);
    if (columns[1] >= 0 && unit == UNIT_COUNT) { /* the count was asked for */
        int count = columns[0];
        columns[0] = columns[1];
        columns[1] = count;
    }
}

static void head_put(const struct profile *profile, FILE *file)
{
    fputs("--- contention:\ncycles/second = 1000000000\nsampling period = 1\n", file);
    fprintf(file, "ms since reset = %" PRId64 "\ndiscarded samples = 0\n",
            profile->duration_ns / 1000000);
}

static void stack_put(const struct profile *profile, uint32_t stack, FILE *file)
{
    uint32_t count;
    const uint32_t *frames = profile_frames_of(profile, stack, &count);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, " 0x%08" PRIx64, profile_location_at(profile, frames[i])->address);
    putc_unlocked('\n', file);
}

static bool contention(const struct profile *profile, const struct write_options *options,
                       FILE *file)
{
    const struct profile_samples *samples = &profile->samples;
    int columns[2];
    columns_find(profile, options->type, columns);
    int64_t(*sums)[2] = calloc(profile->stacks.count + 1, sizeof *sums);
    if (!sums)
        return false;
    for (size_t i = 0; i < samples->count; i++)
        for (unsigned k = 0; k < 2; k++)
            sums[samples->stacks[i]][k] += columns[k] < 0 ? 0 : samples->values[columns[k]][i];
    head_put(profile, file);
    for (uint32_t i = 0; i < profile->stacks.count; i++) {
        if (sums[i][0] <= 0 && sums[i][1] <= 0)
            continue;
        fprintf(file, "%" PRId64 " %" PRId64 " @", sums[i][0], sums[i][1] > 0 ? sums[i][1] : 1);
        stack_put(profile, i, file);
    }
    fputs("--- Memory map: ---\n", file);
    mappings_put(profile, file);
    free(sums);
    return true;
}

const struct writer writer_contention = {
    .word = "contention",
    .ending = ".contention",
    .brief = "waits for locks, for google-pprof and go tool pprof with the program",
    .values = WRITES_ONE,
    .write = contention,
};
