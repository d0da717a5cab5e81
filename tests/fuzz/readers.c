/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a profile, in whatever format they look like: no crash, no leak, and every number in
 * the profile is of something that is there. Checksums of captures are made right first, since no
 * fuzzer guesses them; every second input keeps its own.
 *
 * With PLANT_BUG the target believes that no stack has more than four frames, as a careless user
 * would; tests/fuzz/run proves with it that the fuzzer finds such things.
 */
#include "tool/profile/model.h"
#include "tool/profile/read/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/file/crc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void repair(uint8_t *file, size_t size)
{
    size_t at = FORMAT_HEAD_SIZE;
    if (size < FORMAT_HEAD_SIZE || memcmp(file, FORMAT_MAGIC, sizeof FORMAT_MAGIC) != 0)
        return;
    while (size - at >= FORMAT_RECORD_HEAD) {
        uint64_t length = format_get(file + at + 4, 4);
        if (length > size - at - FORMAT_RECORD_HEAD)
            format_put(file + at + 4, length = size - at - FORMAT_RECORD_HEAD, 4);
        uint32_t crc = crc_add(crc_add(0, file + at, 8), file + at + FORMAT_RECORD_HEAD, length);
        format_put(file + at + 8, crc, 4);
        at += FORMAT_RECORD_HEAD + length;
    }
}

static void check_string(const struct profile *profile, uint32_t string)
{
    must(string < profile->strings.count && strlen(profile_text(profile, string)) < SIZE_MAX);
}

static void check_locations(const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->locations.count; i++) {
        const struct profile_location *location = profile_location_at(profile, i);
        const struct profile_line *lines = profile_lines_of(profile, i);
        must(location->mapping < profile->mappings.count);
        must(location->first_line + (uint64_t)location->lines <= profile->lines.count);
        for (uint32_t k = 0; k < location->lines; k++)
            must(lines[k].function < profile->functions.count);
    }
    for (uint32_t i = 0; i < profile->functions.count; i++) {
        const struct profile_function *function = profile_function_at(profile, i);
        check_string(profile, function->name);
        check_string(profile, function->system_name);
        check_string(profile, function->file);
    }
    for (uint32_t i = 0; i < profile->mappings.count; i++) {
        check_string(profile, profile_mapping_at(profile, i)->path);
        check_string(profile, profile_mapping_at(profile, i)->build_id);
    }
}

static void check_samples(const struct profile *profile)
{
    const struct profile_samples *samples = &profile->samples;
    must(profile->types <= PROFILE_TYPES_MAX);
    must(profile->types == 0 ? samples->count == 0 : profile->default_type < profile->types);
    for (unsigned type = 0; type < profile->types; type++)
        check_string(profile, profile->type[type].name);
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t count;
        must(samples->stacks[i] < profile->stacks.count);
        must(samples->label_sets[i] < profile->label_sets.count);
        const uint32_t *frames = profile_frames_of(profile, samples->stacks[i], &count);
#ifdef PLANT_BUG
        char *seen = malloc(4);
        for (uint32_t k = 0; k < count; k++)
            seen[k] = 1;
        free(seen);
#endif
        for (uint32_t k = 0; k < count; k++)
            must(frames[k] < profile->locations.count);
    }
    for (size_t i = 0; i < profile->labels.count; i++) {
        const struct profile_label *label = (struct profile_label *)profile->labels.items + i;
        check_string(profile, label->key);
        check_string(profile, label->text);
        check_string(profile, label->unit);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const moments[] = {NULL, "peak", "1", "3s"};
    uint8_t *file = malloc(size + 1);
    struct read_error error = {0};
    struct profile profile;
    must(file != NULL);
    memcpy(file, data, size);
    file[size] = 0;
    if (size > 0 && (data[size - 1] & 1) == 0)
        repair(file, size);
    struct read_input input = {.name = "fuzz", .bytes = (const char *)file, .size = size};
    input.options.at = size > 0 ? moments[data[size - 1] >> 1 & 3] : NULL;
    input.options.raw = size > 1 && (data[size - 2] & 64) != 0;
    profile_start(&profile);
    if (profile_read(&profile, &input, &error)) {
        check_locations(&profile);
        check_samples(&profile);
    } else {
        must(error.reason[0] != 0);
    }
    profile_free(&profile);
    free(file);
    return 0;
}
