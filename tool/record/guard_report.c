/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/guard_report.h. The file is read as a profile of up to three samples, one a stack
 * (tool/profile/read/read_guard.c), so that names come from where all other names come from. Frames
 * are printed innermost first, inlined functions before the one that they are in.
 */
#include "tool/record/guard_report.h"

#include <inttypes.h>

#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/symbol/symbol.h"

static void text_print(const struct profile *profile, FILE *out);
static void json_print(const struct profile *profile, FILE *out);

bool guard_report_print(const char *path, FILE *out, bool as_json, struct error *error)
{
    const struct read_options read = {0};
    const struct symbol_options options = {0};
    struct symbol_report symbols = {0};
    struct read_error reason = {0};
    struct profile profile;
    profile_start(&profile);
    bool done = profile_read_file(&profile, path, &read, &reason);
    if (!done) {
        error_set(error, ERROR_INPUT, "%s: %s", path, reason.reason);
        error_hint(error, "memoir run --guard COMMAND makes reports and shows them");
    }
    bool report = done && profile.comments.count > 0 && (profile.traits & TRAIT_GUARD);
    if (done && !report) {
        error_set(error, ERROR_INPUT, "%s is not a guard report (format: %s)", path,
                  profile.format);
        done = error_hint(error, "memoir report %s", path);
    }
    if (done && !symbol_resolve(&profile, &options, &symbols))
        done = error_memory(error);
    if (done && as_json)
        json_print(&profile, out);
    else if (done)
        text_print(&profile, out);
    symbol_report_free(&symbols);
    profile_free(&profile);
    return done;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* A line of a frame; `at` counts inlined functions from the innermost on. */
struct named {
    const char *function, *file, *module;
    uint32_t line;
    uint64_t address, offset;
    bool inlined, guess;
};

static struct named frame_of(const struct profile *profile, uint32_t location, uint32_t at)
{
    const struct profile_location *place = profile_location_at(profile, location);
    const struct profile_mapping *mapping = profile_mapping_at(profile, place->mapping);
    struct named named = {"",
                          "",
                          profile_text(profile, mapping->path),
                          0,
                          place->address - 1,
                          place->address - 1 - mapping->start + mapping->offset,
                          at + 1 < place->lines,
                          place->flags & LOCATION_GUESS};
    if (at < place->lines) {
        const struct profile_line *line = &profile_lines_of(profile, location)[at];
        const struct profile_function *function = profile_function_at(profile, line->function);
        named.function = profile_text(profile, function->name);
        named.file = profile_text(profile, function->file);
        named.line = line->line;
    }
    return named;
}

static uint32_t lines_of(const struct profile *profile, uint32_t location)
{
    uint32_t lines = profile_location_at(profile, location)->lines;
    return lines == 0 ? 1 : lines;
}

static const char *label_text(const struct profile *profile, uint32_t set, const char *key)
{
    const struct profile_label *label = profile_label_of(profile, set, key);
    return label ? profile_text(profile, label->text) : "";
}

static int64_t label_number(const struct profile *profile, uint32_t set, const char *key)
{
    const struct profile_label *label = profile_label_of(profile, set, key);
    return label ? label->number : 0;
}

static const char *headline(const struct profile *profile)
{
    return profile_text(profile, *(const uint32_t *)profile->comments.items);
}

/* ---- as text ------------------------------------------------------------------------------ */

static void frame_print(const struct named *named, unsigned number, FILE *out)
{
    fprintf(out, "    #%-2u ", number);
    if (named->function[0])
        fprintf(out, "%s%s%s", named->guess ? "~" : "", named->function,
                named->inlined ? " (inlined)" : "");
    else
        fprintf(out, "0x%" PRIx64, named->address);
    if (named->file[0] && named->line > 0)
        fprintf(out, "  %s:%u\n", named->file, named->line);
    else if (named->module[0])
        fprintf(out, "  %s+0x%" PRIx64 "\n", named->module, named->offset);
    else
        fputc('\n', out);
}

static void text_print(const struct profile *profile, FILE *out)
{
    fprintf(out, "%s\n", headline(profile));
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t set = profile->samples.label_sets[i], count;
        const char *what = label_text(profile, set, "stack");
        const char *name = label_text(profile, set, "name");
        int64_t age = label_number(profile, set, "age");
        fprintf(out, "  %s by thread %" PRId64, what, label_number(profile, set, "thread"));
        if (name[0])
            fprintf(out, " (%s)", name);
        if (i > 0)
            fprintf(out, ", %.3f s before", (double)age / 1000);
        fputc('\n', out);
        const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[i], &count);
        unsigned number = 0;
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t at = 0; at < lines_of(profile, frames[k]); at++) {
                struct named named = frame_of(profile, frames[k], at);
                frame_print(&named, number++, out);
            }
    }
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static void json_print(const struct profile *profile, FILE *out)
{
    struct json json;
    json_start(&json, out, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.guard.named/1");
    json_text(&json, "program", profile_text(profile, profile->program));
    json_number(&json, "pid", profile->pid);
    json_text(&json, "text", headline(profile));
    json_array(&json, "stacks");
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t set = profile->samples.label_sets[i], count;
        const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[i], &count);
        json_object(&json, NULL);
        json_text(&json, "what", label_text(profile, set, "stack"));
        json_number(&json, "thread", label_number(profile, set, "thread"));
        json_text(&json, "name", label_text(profile, set, "name"));
        json_number(&json, "age_ms", label_number(profile, set, "age"));
        json_array(&json, "frames");
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t at = 0; at < lines_of(profile, frames[k]); at++) {
                struct named named = frame_of(profile, frames[k], at);
                json_object(&json, NULL);
                json_text(&json, "function", named.function);
                json_text(&json, "file", named.file);
                json_number(&json, "line", named.line);
                json_text(&json, "module", named.module);
                json_number(&json, "offset", (int64_t)named.offset);
                json_flag(&json, "inlined", named.inlined);
                json_end(&json);
            }
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputc('\n', out);
}
