/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's "processed" JSON, for profiler.firefox.com: a thread for each column of
 * values, the wanted one first, whose call tree counts bytes, objects or milliseconds; the heap
 * over time as a track of memory, snapshots and marks as markers.
 *
 * A stack has no time of its own: those of a column are all at the moment that it is of, the peak
 * or the end.
 *
 * Tables are columns of equal length that refer to each other by row; a stack is a row with its
 * last frame and the row of its caller.
 */
#include "tool/profile/write/write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/terminal/terminal.h"

enum { PROCESSED_VERSION = 57, GECKO_VERSION = 31, RESOURCE_LIBRARY = 1 };
enum { CATEGORY_OTHER, CATEGORY_MEMORY };
static const double ns_per_ms = 1e6;

struct fox {
    const struct profile *profile;
    struct flat flat;
    struct json json;
    struct keys texts, modules; /* by the place of the text, which is there once */
    uint32_t *functions;        /* by frame: the row of its function */
    uint32_t *firsts;           /* by function: its first frame */
    size_t functions_count;
    uint32_t *rows; /* by depth: the row of the present stack's frame */
    bool failed;    /* memory is out */
};

static struct key key_of(const char *text)
{
    return (struct key){{(uintptr_t)text, 0, 0}};
}

static const char *text_at(const struct keys *keys, size_t number)
{
    return (const char *)(uintptr_t)keys->items[number].words[0];
}

static int64_t string_of(struct fox *fox, const char *text)
{
    bool fresh;
    uint32_t number = keys_add(&fox->texts, key_of(text), &fresh);
    fox->failed = fox->failed || number == KEYS_NONE;
    return number;
}

static bool start(struct fox *fox)
{
    struct flat *flat = &fox->flat;
    uint32_t depth = 0;
    if (!flat_make(flat, fox->profile, &(struct flat_options){.lines = true}))
        return false;
    for (size_t i = 0; i < flat->stacks_count; i++)
        if (flat_stack(flat, i).count > depth)
            depth = flat_stack(flat, i).count;
    fox->functions = calloc(flat->frames_count + 1, sizeof *fox->functions);
    fox->firsts = calloc(flat->frames_count + 1, sizeof *fox->firsts);
    fox->rows = calloc((size_t)depth + 1, sizeof *fox->rows);
    if (!fox->functions || !fox->firsts || !fox->rows)
        return false;
    for (uint32_t i = 0; i < flat->frames_count; i++) {
        bool fresh;
        if (i == 0 || !flat_same_function(flat, i - 1, i))
            fox->firsts[fox->functions_count++] = i;
        fox->functions[i] = (uint32_t)fox->functions_count - 1;
        if (flat->frames[i].module[0] != '\0' &&
            keys_add(&fox->modules, key_of(flat->frames[i].module), &fresh) == KEYS_NONE)
            return false;
    }
    return true;
}

/* ---- tables ---- */

static void maybe_put(struct json *json, bool known, int64_t number)
{
    if (known)
        json_number(json, NULL, number);
    else
        json_real(json, NULL, NAN); /* null */
}

/* A column that is the same in every row. */
static void column_put(struct json *json, const char *key, size_t count, bool known, int64_t value)
{
    json_array(json, key);
    for (size_t i = 0; i < count; i++)
        maybe_put(json, known, value);
    json_end(json);
}

static void table_end(struct json *json, size_t count)
{
    json_number(json, "length", (int64_t)count);
    json_end(json);
}

static void frames_put(struct fox *fox)
{
    struct json *json = &fox->json;
    const struct flat_frame *frames = fox->flat.frames;
    size_t count = fox->flat.frames_count;
    json_object(json, "frameTable");
    column_put(json, "address", count, true, -1);
    column_put(json, "inlineDepth", count, true, 0);
    column_put(json, "category", count, true, CATEGORY_OTHER);
    column_put(json, "subcategory", count, true, 0);
    json_array(json, "func");
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, fox->functions[i]);
    json_end(json);
    column_put(json, "nativeSymbol", count, false, 0);
    column_put(json, "innerWindowID", count, false, 0);
    json_array(json, "line");
    for (size_t i = 0; i < count; i++)
        maybe_put(json, frames[i].line != 0, frames[i].line);
    json_end(json);
    column_put(json, "column", count, false, 0);
    table_end(json, count);
}

static void functions_put(struct fox *fox)
{
    struct json *json = &fox->json;
    const struct flat_frame *frames = fox->flat.frames;
    size_t count = fox->functions_count;
    json_object(json, "funcTable");
    json_array(json, "name");
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, string_of(fox, frames[fox->firsts[i]].name));
    json_end(json);
    for (unsigned i = 0; i < 2; i++) {
        json_array(json, i == 0 ? "isJS" : "relevantForJS");
        for (size_t k = 0; k < count; k++)
            json_flag(json, NULL, false);
        json_end(json);
    }
    json_array(json, "resource");
    for (size_t i = 0; i < count; i++) {
        const char *module = frames[fox->firsts[i]].module;
        json_number(json, NULL,
                    module[0] != '\0' ? (int64_t)keys_find(&fox->modules, key_of(module)) : -1);
    }
    json_end(json);
    json_array(json, "fileName");
    for (size_t i = 0; i < count; i++) {
        const char *file = frames[fox->firsts[i]].file;
        maybe_put(json, file[0] != '\0', file[0] != '\0' ? string_of(fox, file) : 0);
    }
    json_end(json);
    column_put(json, "lineNumber", count, false, 0);
    column_put(json, "columnNumber", count, false, 0);
    table_end(json, count);
}

static void resources_put(struct fox *fox)
{
    struct json *json = &fox->json;
    size_t count = fox->modules.count;
    json_object(json, "resourceTable");
    json_array(json, "lib");
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, (int64_t)i);
    json_end(json);
    json_array(json, "name");
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, string_of(fox, name_base(text_at(&fox->modules, i))));
    json_end(json);
    column_put(json, "host", count, false, 0);
    column_put(json, "type", count, true, RESOURCE_LIBRARY);
    table_end(json, count);
    json_object(json, "nativeSymbols");
    for (unsigned i = 0; i < 4; i++) {
        static const char *const keys[] = {"libIndex", "address", "name", "functionSize"};
        column_put(json, keys[i], 0, false, 0);
    }
    table_end(json, 0);
}

/* The stacks of a column, each frame behind its caller; which ones they are, samples say. */
enum stack_part { STACK_FRAMES, STACK_CALLERS, STACK_SAMPLES };

static size_t stacks_put(struct fox *fox, unsigned type, enum stack_part part)
{
    struct json *json = &fox->json;
    const struct flat *flat = &fox->flat;
    size_t rows = 0, before = flat->stacks_count; /* that has a value, too */
    for (size_t i = 0; i < flat->stacks_count; i++) {
        if (flat_value(flat, i, type) == 0)
            continue;
        uint32_t depth = before < flat->stacks_count ? flat_common(flat, before, i) : 0;
        struct flat_stack stack = flat_stack(flat, i);
        for (; depth < stack.count; depth++) {
            if (part == STACK_FRAMES)
                json_number(json, NULL, stack.frames[depth]);
            else if (part == STACK_CALLERS)
                maybe_put(json, depth > 0, depth > 0 ? fox->rows[depth - 1] : 0);
            fox->rows[depth] = (uint32_t)rows++;
        }
        if (part == STACK_SAMPLES)
            maybe_put(json, stack.count > 0, stack.count > 0 ? fox->rows[stack.count - 1] : 0);
        before = i;
    }
    return rows;
}

static void stack_table_put(struct fox *fox, unsigned type)
{
    struct json *json = &fox->json;
    json_object(json, "stackTable");
    json_array(json, "frame");
    stacks_put(fox, type, STACK_FRAMES);
    json_end(json);
    json_array(json, "prefix");
    size_t rows = stacks_put(fox, type, STACK_CALLERS);
    json_end(json);
    table_end(json, rows);
}

/* ---- threads ---- */

static double end_ms(const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    int64_t end = profile->duration_ns;
    if (profile->points.count > 0 && points[profile->points.count - 1].time_ns > end)
        end = points[profile->points.count - 1].time_ns;
    return (double)end / ns_per_ms;
}

/* In what units the viewer counts, and how many of ours are one of them. */
static const char *weight_of(enum value_unit unit, double *factor)
{
    double ns = value_unit_ns(unit);
    *factor = ns > 0 ? ns_per_ms / ns : 1;
    return ns > 0 ? "tracing-ms" : unit == UNIT_BYTES ? "bytes" : "samples";
}

static void samples_put(struct fox *fox, unsigned type)
{
    struct json *json = &fox->json;
    const struct profile *profile = fox->profile;
    const struct flat *flat = &fox->flat;
    const char *name = profile_text(profile, profile->type[type].name);
    bool peak = profile_type_blocks(name) == BLOCKS_AT_PEAK && profile->peak_time_ns > 0;
    double time_ms = peak ? (double)profile->peak_time_ns / ns_per_ms : end_ms(profile), factor;
    const char *weight = weight_of(profile_unit(profile, profile->type[type]), &factor);
    size_t count = 0;
    json_object(json, "samples");
    json_array(json, "stack");
    stacks_put(fox, type, STACK_SAMPLES);
    json_end(json);
    json_array(json, "weight");
    for (size_t i = 0; i < flat->stacks_count; i++) {
        int64_t value = flat_value(flat, i, type);
        count += value != 0;
        if (value != 0 && factor == 1)
            json_number(json, NULL, value);
        else if (value != 0)
            json_real(json, NULL, (double)value / factor);
    }
    json_end(json);
    json_array(json, "time");
    for (size_t i = 0; i < count; i++)
        json_real(json, NULL, time_ms);
    json_end(json);
    json_text(json, "weightType", weight);
    table_end(json, count);
}

static void markers_put(struct fox *fox, bool wanted)
{
    struct json *json = &fox->json;
    const struct profile_moment *moments = fox->profile->moments.items;
    size_t count = wanted ? fox->profile->moments.count : 0;
    json_object(json, "markers");
    json_array(json, "name");
    for (size_t i = 0; i < count; i++) {
        const char *name = profile_text(fox->profile, moments[i].name);
        json_number(json, NULL, string_of(fox, name[0] != '\0' ? name : "snapshot"));
    }
    json_end(json);
    json_array(json, "startTime");
    for (size_t i = 0; i < count; i++)
        json_real(json, NULL, (double)moments[i].time_ns / ns_per_ms);
    json_end(json);
    column_put(json, "endTime", count, false, 0);
    column_put(json, "phase", count, true, 0);
    column_put(json, "category", count, true, CATEGORY_OTHER);
    column_put(json, "data", count, false, 0);
    table_end(json, count);
}

static void pid_put(struct fox *fox)
{
    char pid[24];
    snprintf(pid, sizeof pid, "%" PRId64, fox->profile->pid);
    json_text(&fox->json, "pid", pid);
}

static void thread_put(struct fox *fox, unsigned type, bool first)
{
    struct json *json = &fox->json;
    const char *program = name_base(profile_text(fox->profile, fox->profile->program));
    json_object(json, NULL);
    json_text(json, "name", profile_text(fox->profile, fox->profile->type[type].name));
    json_text(json, "processName", program[0] != '\0' ? program : "profile");
    json_text(json, "processType", "default");
    json_flag(json, "isMainThread", first);
    pid_put(fox);
    json_number(json, "tid", (int64_t)type);
    json_number(json, "processStartupTime", 0);
    json_real(json, "processShutdownTime", NAN);
    json_number(json, "registerTime", 0);
    json_real(json, "unregisterTime", NAN);
    json_array(json, "pausedRanges");
    json_end(json);
    samples_put(fox, type);
    markers_put(fox, first);
    stack_table_put(fox, type);
    frames_put(fox);
    functions_put(fox);
    resources_put(fox);
    json_end(json);
}

/* ---- the whole ---- */

static void category_put(struct json *json, const char *name, const char *color)
{
    json_object(json, NULL);
    json_text(json, "name", name);
    json_text(json, "color", color);
    json_array(json, "subcategories");
    json_text(json, NULL, "Other");
    json_end(json);
    json_end(json);
}

static void meta_put(struct fox *fox)
{
    struct json *json = &fox->json;
    const char *program = name_base(profile_text(fox->profile, fox->profile->program));
    json_object(json, "meta");
    json_number(json, "interval", 1);
    json_real(json, "startTime", (double)fox->profile->time_ns / ns_per_ms);
    json_number(json, "processType", 0);
    char *product = estimate_title(fox->profile, program[0] != '\0' ? program : "memoir");
    json_text(json, "product", product ? product : program);
    free(product);
    json_number(json, "stackwalk", 1);
    json_number(json, "version", GECKO_VERSION);
    json_number(json, "preprocessedProfileVersion", PROCESSED_VERSION);
    json_flag(json, "symbolicated", true);
    json_flag(json, "symbolicationNotSupported", true);
    json_flag(json, "usesOnlyOneStackType", true);
    json_flag(json, "sourceCodeIsNotOnSearchfox", true);
    json_text(json, "importedFrom", "memoir");
    json_flag(json, "keepProfileThreadOrder", true);
    json_array(json, "initialSelectedThreads");
    json_number(json, NULL, 0);
    json_end(json);
    json_array(json, "categories");
    category_put(json, "Other", "grey");
    category_put(json, "Memory", "orange");
    json_end(json);
    json_array(json, "markerSchema");
    json_end(json);
    json_end(json);
}

static void libraries_put(struct fox *fox)
{
    struct json *json = &fox->json;
    json_array(json, "libs");
    for (size_t i = 0; i < fox->modules.count; i++) {
        const char *path = text_at(&fox->modules, i);
        json_object(json, NULL);
        json_text(json, "name", name_base(path));
        json_text(json, "path", path);
        json_text(json, "debugName", name_base(path));
        json_text(json, "debugPath", path);
        json_text(json, "breakpadId", "");
        json_text(json, "arch", "");
        json_real(json, "codeId", NAN);
        json_end(json);
    }
    json_end(json);
}

/* The live heap: each point has what it differs by from the one before. */
static void counter_put(struct fox *fox)
{
    struct json *json = &fox->json;
    const struct profile_point *points = fox->profile->points.items;
    size_t count = fox->profile->points.count;
    uint64_t before = 0;
    json_array(json, "counters");
    if (count > 0) {
        json_object(json, NULL);
        json_text(json, "name", "malloc");
        json_text(json, "category", "Memory");
        json_text(json, "description", "live heap");
        pid_put(fox);
        json_number(json, "mainThreadIndex", 0);
        json_object(json, "samples");
        json_array(json, "time");
        for (size_t i = 0; i < count; i++)
            json_real(json, NULL, (double)points[i].time_ns / ns_per_ms);
        json_end(json);
        json_array(json, "count");
        for (size_t i = 0; i < count; i++) {
            json_number(json, NULL, (int64_t)(points[i].live_bytes - before));
            before = points[i].live_bytes;
        }
        json_end(json);
        table_end(json, count);
        json_end(json);
    }
    json_end(json);
}

static bool firefox(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct fox fox = {.profile = profile};
    bool done = start(&fox);
    if (done) {
        json_start(&fox.json, file, false);
        json_object(&fox.json, NULL);
        meta_put(&fox);
        libraries_put(&fox);
        counter_put(&fox);
        json_array(&fox.json, "threads");
        thread_put(&fox, options->type, true);
        for (unsigned i = 0; i < profile->types; i++)
            if (i != options->type)
                thread_put(&fox, i, false);
        json_end(&fox.json);
        json_object(&fox.json, "shared");
        json_array(&fox.json, "stringArray");
        for (size_t i = 0; i < fox.texts.count; i++)
            json_text(&fox.json, NULL, text_at(&fox.texts, i));
        json_end(&fox.json);
        json_end(&fox.json);
        json_end(&fox.json);
        putc_unlocked('\n', file);
    }
    free(fox.functions);
    free(fox.firsts);
    free(fox.rows);
    keys_free(&fox.texts);
    keys_free(&fox.modules);
    flat_free(&fox.flat);
    return done && !fox.failed;
}

const struct writer writer_firefox = {
    .word = "firefox",
    .ending = ".firefox.json",
    .brief = "for profiler.firefox.com",
    .values = WRITES_ALL,
    .write = firefox,
};
