/* SPDX-License-Identifier: MIT */
/*
 * Text for the older readers, google-pprof and jeprof: the heap as gperftools writes it, with
 * addresses and mappings, which needs the programs to be read; or with the names in front of it,
 * which needs nothing else. A profile without addresses is written the second way under either
 * name. Numbers are exact ("heapprofile"): readers do not scale them.
 *
 * Names before the heap have invented addresses, one a frame: inlined functions are frames like
 * others, and there are no lines.
 */
#include "tool/profile/write/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"
#include "tool/profile/write/mappings.h"

enum { LIVE_OBJECTS, LIVE_BYTES, ALL_OBJECTS, ALL_BYTES, COLUMNS };
enum { INVENTED = 0x100000, INVENTED_STEP = 16 };

/* The four numbers of a line as columns of the profile; -1: there is none. */
static void columns_find(const struct profile *profile, unsigned type, int columns[COLUMNS])
{
    /* Asked for the peak, what is in use is what was then: the format has no other place for it. */
    bool peak =
        profile_type_blocks(profile_text(profile, profile->type[type].name)) == BLOCKS_AT_PEAK;
    columns[LIVE_OBJECTS] =
        profile_type_named(profile, peak ? TYPE_PEAK_OBJECTS : TYPE_INUSE_OBJECTS);
    columns[LIVE_BYTES] = profile_type_named(profile, peak ? TYPE_PEAK_SPACE : TYPE_INUSE_SPACE);
    columns[ALL_OBJECTS] = profile_type_named(profile, TYPE_ALLOC_OBJECTS);
    columns[ALL_BYTES] = profile_type_named(profile, TYPE_ALLOC_SPACE);
    if (columns[LIVE_BYTES] < 0) {
        columns[LIVE_BYTES] = (int)type;
        columns[LIVE_OBJECTS] = profile_type_partner(profile, type);
    }
    if (columns[ALL_BYTES] < 0) {
        columns[ALL_BYTES] = columns[LIVE_BYTES];
        columns[ALL_OBJECTS] = columns[LIVE_OBJECTS];
    }
}

static void numbers_put(const int64_t numbers[COLUMNS], FILE *file)
{
    fprintf(file, "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @",
            numbers[LIVE_OBJECTS], numbers[LIVE_BYTES], numbers[ALL_OBJECTS], numbers[ALL_BYTES]);
}

/* Adds a row of values; false if all are 0. */
static bool numbers_add(int64_t numbers[COLUMNS], const int columns[COLUMNS], const int64_t *values)
{
    bool any = false;
    for (unsigned i = 0; i < COLUMNS; i++) {
        int64_t value = columns[i] < 0 ? 0 : values[columns[i]];
        numbers[i] += value;
        any = any || value != 0;
    }
    return any;
}

static void head_put(const struct profile *profile, const int columns[COLUMNS], FILE *file)
{
    int64_t total[COLUMNS] = {0};
    for (size_t i = 0; i < profile->samples.count; i++)
        for (unsigned k = 0; k < COLUMNS; k++)
            total[k] += columns[k] < 0 ? 0 : profile->samples.values[columns[k]][i];
    fputs("heap profile: ", file);
    numbers_put(total, file);
    fputs(" heapprofile\n", file);
    char mark[ESTIMATE_TEXT];
    if (estimate_text(profile, mark)[0] != '\0')
        fprintf(file, "# %s\n", mark);
}

static void libraries_put(const struct profile *profile, FILE *file)
{
    fputs("\nMAPPED_LIBRARIES:\n", file);
    mappings_put(profile, file);
}

/* Readers take every address for one behind a call, and look before it. */
static void addresses_put(const struct profile *profile, uint32_t stack, FILE *file)
{
    uint32_t count;
    const uint32_t *frames = profile_frames_of(profile, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_location *location = profile_location_at(profile, frames[i]);
        fprintf(file, " 0x%08" PRIx64,
                location->address + (location->flags & LOCATION_EXACT ? 1 : 0));
    }
    putc_unlocked('\n', file);
}

static bool plain_put(const struct profile *profile, const int columns[COLUMNS], FILE *file)
{
    const struct profile_samples *samples = &profile->samples;
    size_t stacks = profile->stacks.count;
    int64_t *sums = calloc((stacks + 1) * COLUMNS, sizeof *sums);
    if (!sums)
        return false;
    for (size_t i = 0; i < samples->count; i++) {
        int64_t values[PROFILE_TYPES_MAX];
        for (unsigned type = 0; type < profile->types; type++)
            values[type] = samples->values[type][i];
        numbers_add(sums + (size_t)samples->stacks[i] * COLUMNS, columns, values);
    }
    head_put(profile, columns, file);
    for (uint32_t i = 0; i < stacks; i++) {
        const int64_t *numbers = sums + (size_t)i * COLUMNS;
        if (numbers[0] == 0 && numbers[1] == 0 && numbers[2] == 0 && numbers[3] == 0)
            continue;
        numbers_put(numbers, file);
        addresses_put(profile, i, file);
    }
    libraries_put(profile, file);
    free(sums);
    return true;
}

/* On one line, and without "--", which joins names. */
static void name_put(const char *name, FILE *file)
{
    for (const char *at = name; *at != '\0';) {
        char instead;
        if (at > name && at[-1] == '-' && at[0] == '-')
            putc_unlocked(' ', file);
        for (unsigned length = line_character(at, &instead); length > 0; length--, at++)
            putc_unlocked(instead != '\0' ? instead : *at, file);
    }
    putc_unlocked('\n', file);
}

static bool symbolized(const struct profile *profile, const struct write_options *options,
                       FILE *file)
{
    struct flat flat;
    int columns[COLUMNS];
    const char *program = profile_text(profile, profile->program);
    bool done = flat_make(&flat, profile, &(struct flat_options){.leaf_first = true});
    columns_find(profile, options->type, columns);
    if (done) {
        fputs("--- symbol\nbinary=", file);
        line_put(program[0] != '\0' ? program : "unknown", file);
        putc_unlocked('\n', file);
        for (size_t i = 0; i < flat.frames_count; i++) {
            /* Some readers look for addresses of callers less 1, some do not. */
            for (unsigned k = 0; k < 2; k++) {
                fprintf(file, "0x%016zx ", INVENTED + i * INVENTED_STEP + k);
                name_put(flat.frames[i].name, file);
            }
        }
        fputs("---\n", file);
        head_put(profile, columns, file);
    }
    for (size_t i = 0; i < flat.stacks_count && done; i++) {
        int64_t numbers[COLUMNS] = {0};
        int64_t values[PROFILE_TYPES_MAX];
        for (unsigned type = 0; type < flat.types; type++)
            values[type] = flat_value(&flat, i, type);
        if (!numbers_add(numbers, columns, values))
            continue;
        struct flat_stack stack = flat_stack(&flat, i);
        numbers_put(numbers, file);
        for (uint32_t k = 0; k < stack.count; k++)
            fprintf(file, " 0x%016zx", INVENTED + (size_t)stack.frames[k] * INVENTED_STEP + 1);
        putc_unlocked('\n', file);
    }
    if (done)
        fputs("\nMAPPED_LIBRARIES:\n", file);
    flat_free(&flat);
    return done;
}

static bool gperftools(const struct profile *profile, const struct write_options *options,
                       FILE *file)
{
    int columns[COLUMNS];
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t count;
        const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[i], &count);
        for (uint32_t k = 0; k < count; k++)
            if (profile_location_at(profile, frames[k])->address == 0)
                return symbolized(profile, options, file);
    }
    columns_find(profile, options->type, columns);
    return plain_put(profile, columns, file);
}

const struct writer writer_gperftools = {
    .word = "gperftools",
    .ending = ".heap",
    .brief = "for google-pprof and jeprof, with the program",
    .values = WRITES_ALL,
    .write = gperftools,
};
const struct writer writer_symbolized = {
    .word = "symbolized",
    .ending = ".symbolized",
    .brief = "for google-pprof and jeprof alone, with names",
    .values = WRITES_ALL,
    .write = symbolized,
};
