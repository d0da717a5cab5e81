/* SPDX-License-Identifier: MIT */
/*
 * A report about a guarded block (lib/guard/report.c): up to three stacks, as samples with the
 * labels `stack` (accessed, found, allocated, freed), `thread` and `age`; the first line that the
 * library said is the first comment.
 */
#include "tool/profile/read/read.h"

#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"

enum { FRAMES_MAX = 512 }; /* twice the highest heap.depth */

static bool is(const struct read_input *input)
{
    static const char word[] = "{\"schema\":\"memoir.guard/1\"";
    return input->size >= sizeof word && memcmp(input->bytes, word, sizeof word - 1) == 0;
}

/* A number in a text: JSON's own lose the low bits of addresses. */
static uint64_t address_of(struct values *values, uint32_t value)
{
    size_t length;
    char text[24] = "";
    const char *digits = value == 0 ? "" : value_text(values, value, &length);
    if (value != 0 && length < sizeof text)
        memcpy(text, digits, length);
    return strtoull(text, NULL, 0);
}

static uint32_t string_of(struct values *values, uint32_t object, const char *name,
                          struct profile *profile)
{
    uint32_t value = value_member(values, object, name);
    return value == 0 ? 0 : value_string(values, value, profile);
}

static void take_modules(struct values *values, struct profile *profile)
{
    uint32_t modules = value_member(values, 0, "modules");
    for (uint32_t at = value_first(values, modules); at != 0;
         at = value_after(values, modules, at)) {
        struct profile_mapping mapping = {
            .start = address_of(values, value_member(values, at, "start")),
            .limit = address_of(values, value_member(values, at, "end")),
            .offset = address_of(values, value_member(values, at, "offset")),
            .path = string_of(values, at, "path", profile),
            .build_id = string_of(values, at, "build_id", profile),
        };
        if (mapping.limit > mapping.start)
            profile_mapping(profile, &mapping);
    }
}

static void take_stack(struct values *values, struct profile *profile, uint32_t stack)
{
    uint32_t frames[FRAMES_MAX], count = 0, list = value_member(values, stack, "frames");
    for (uint32_t at = value_first(values, list); at != 0 && count < FRAMES_MAX;
         at = value_after(values, list, at))
        frames[count++] = profile_address(profile, address_of(values, at), 0);
    const struct profile_label labels[] = {
        {.key = profile_string_of(profile, "stack"),
         .text = string_of(values, stack, "what", profile)},
        {.key = profile_string_of(profile, "thread"),
         .number = value_member_integer(values, stack, "thread")},
        {.key = profile_string_of(profile, "name"),
         .text = string_of(values, stack, "name", profile)},
        {.key = profile_string_of(profile, "age"),
         .unit = profile_string_of(profile, "ms"),
         .number = value_member_integer(values, stack, "age_ms")},
    };
    uint32_t set = profile_label_set(profile, labels, sizeof labels / sizeof *labels);
    size_t sample = profile_sample(profile, profile_stack(profile, frames, count), set);
    if (!profile->failed)
        profile->samples.values[0][sample] = 1;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct values values = {0};
    bool done = value_parse(&values, input, error);
    uint32_t stacks = done ? value_member(&values, 0, "stacks") : 0;
    if (done && value_first(&values, stacks) == 0)
        done = read_refuse(error, 0, "the report has no stacks");
    if (done) {
        profile_type(profile, "stacks", UNIT_COUNT);
        profile->kind = PROFILE_OTHER;
        profile->pid = value_member_integer(&values, 0, "pid");
        profile->program = string_of(&values, 0, "program", profile);
        uint32_t *comment = profile_list_add(profile, &profile->comments, sizeof *comment);
        if (comment)
            *comment = string_of(&values, 0, "text", profile);
        take_modules(&values, profile);
        for (uint32_t at = value_first(&values, stacks); at != 0 && !profile->failed;
             at = value_after(&values, stacks, at))
            take_stack(&values, profile, at);
    }
    value_free(&values);
    return done;
}

const struct reader reader_guard = {
    .name = "memoir guard report", .is = is, .read = read, .traits = TRAIT_GUARD};
