/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own JSON: frames once, and a sampled profile for each column of values, of which the
 * wanted one is shown first. Stacks are root first.
 */
#include "tool/profile/write/write.h"

#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/terminal/terminal.h"

/* speedscope knows these units and refuses others. */
static const char *unit_of(enum value_unit unit)
{
    return unit >= UNIT_BYTES && unit <= UNIT_SECONDS ? value_unit_name(unit) : "none";
}

static void frames_put(struct json *json, const struct flat *flat)
{
    json_array(json, "frames");
    for (size_t i = 0; i < flat->frames_count; i++) {
        const struct flat_frame *frame = &flat->frames[i];
        json_object(json, NULL);
        json_text(json, "name", frame->name);
        if (frame->file[0] != '\0' || frame->module[0] != '\0')
            json_text(json, "file", frame->file[0] != '\0' ? frame->file : frame->module);
        if (frame->line != 0)
            json_number(json, "line", frame->line);
        json_end(json);
    }
    json_end(json);
}

static void profile_put(struct json *json, const struct profile *profile, const struct flat *flat,
                        unsigned type)
{
    int64_t total = 0;
    json_object(json, NULL);
    json_text(json, "type", "sampled");
    json_text(json, "name", profile_text(profile, profile->type[type].name));
    json_text(json, "unit", unit_of(profile_unit(profile, profile->type[type])));
    json_array(json, "samples");
    for (size_t i = 0; i < flat->stacks_count; i++) {
        if (flat_value(flat, i, type) == 0)
            continue;
        struct flat_stack stack = flat_stack(flat, i);
        json_array(json, NULL);
        for (uint32_t k = 0; k < stack.count; k++)
            json_number(json, NULL, stack.frames[k]);
        json_end(json);
    }
    json_end(json);
    json_array(json, "weights");
    for (size_t i = 0; i < flat->stacks_count; i++) {
        int64_t value = flat_value(flat, i, type);
        if (value == 0)
            continue;
        json_number(json, NULL, value);
        total += value;
    }
    json_end(json);
    json_number(json, "startValue", 0);
    json_number(json, "endValue", total);
    json_end(json);
}

static bool speedscope(const struct profile *profile, const struct write_options *options,
                       FILE *file)
{
    struct flat flat;
    struct json json;
    bool done = flat_make(&flat, profile, &(struct flat_options){.lines = true});
    if (done) {
        json_start(&json, file, false);
        json_object(&json, NULL);
        json_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
        json_text(&json, "exporter", "memoir");
        const char *program = profile_text(profile, profile->program);
        char *title = estimate_title(profile, program);
        json_text(&json, "name", title ? title : program);
        free(title);
        json_number(&json, "activeProfileIndex", options->type);
        json_object(&json, "shared");
        frames_put(&json, &flat);
        json_end(&json);
        json_array(&json, "profiles");
        for (unsigned i = 0; i < profile->types; i++)
            profile_put(&json, profile, &flat, i);
        json_end(&json);
        json_end(&json);
        putc_unlocked('\n', file);
    }
    flat_free(&flat);
    return done;
}

const struct writer writer_speedscope = {
    .word = "speedscope",
    .ending = ".speedscope.json",
    .brief = "for speedscope, all values",
    .values = WRITES_ALL,
    .write = speedscope,
};
