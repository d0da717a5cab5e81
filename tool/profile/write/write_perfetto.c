/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events in JSON, for ui.perfetto.dev and chrome://tracing: the heap over time as
 * counters, snapshots and marks as instants, and the stacks as a flame on a thread of its own. The
 * flame is as wide as the recording is long: there a share of the width is a share of the whole.
 * What a box stands for is in its arguments, to the byte.
 */
#include "tool/profile/write/write.h"

#include <stdlib.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/terminal/terminal.h"

/* Stacks of a short run are drawn as if it took 0.1 s: times are whole us, and slices need some. */
enum { THREAD_MOMENTS = 1, THREAD_STACKS = 2, NS_PER_US = 1000, WIDTH_MIN_US = 100000 };

struct trace {
    const struct profile *profile;
    struct json json;
    int64_t pid;
};

static void event(struct trace *trace, const char *phase, const char *name, int64_t time_ns)
{
    json_object(&trace->json, NULL);
    json_text(&trace->json, "ph", phase);
    if (name)
        json_text(&trace->json, "name", name);
    json_number(&trace->json, "pid", trace->pid);
    json_micros(&trace->json, "ts", time_ns);
}

static void event_end(struct trace *trace)
{
    json_end(&trace->json);
}

static void name_put(struct trace *trace, const char *what, int64_t thread, const char *name)
{
    event(trace, "M", what, 0);
    json_number(&trace->json, "tid", thread);
    json_object(&trace->json, "args");
    json_text(&trace->json, "name", name);
    json_end(&trace->json);
    event_end(trace);
}

static void counter(struct trace *trace, const char *name, int64_t time_ns, uint64_t value)
{
    event(trace, "C", name, time_ns);
    json_object(&trace->json, "args");
    json_number(&trace->json, "bytes", (int64_t)value);
    json_end(&trace->json);
    event_end(trace);
}

static void times_put(struct trace *trace)
{
    const struct profile *profile = trace->profile;
    const struct profile_point *points = profile->points.items;
    const struct profile_moment *moments = profile->moments.items;
    for (size_t i = 0; i < profile->points.count; i++) {
        counter(trace, "live heap", points[i].time_ns, points[i].live_bytes);
        if (points[i].resident_bytes != 0)
            counter(trace, "resident memory", points[i].time_ns, points[i].resident_bytes);
        if (points[i].allocated_bytes != 0)
            counter(trace, "allocated so far", points[i].time_ns, points[i].allocated_bytes);
    }
    for (size_t i = 0; i < profile->moments.count; i++) {
        const char *name = profile_text(profile, moments[i].name);
        event(trace, "i", name[0] != '\0' ? name : "snapshot", moments[i].time_ns);
        json_number(&trace->json, "tid", THREAD_MOMENTS);
        json_text(&trace->json, "s", "p");
        event_end(trace);
    }
}

/* In whole microseconds: readers that count in doubles would else see boxes overlap. */
static void box_put(struct trace *trace, const struct flat_frame *frame, int64_t start_us,
                    int64_t end_us, int64_t value, const char *unit)
{
    if (end_us == start_us)
        return;
    event(trace, "X", frame->name, start_us * NS_PER_US);
    json_number(&trace->json, "dur", end_us - start_us);
    json_number(&trace->json, "tid", THREAD_STACKS);
    json_object(&trace->json, "args");
    json_number(&trace->json, unit, value);
    if (frame->file[0] != '\0')
        json_text(&trace->json, "file", frame->file);
    if (frame->line != 0)
        json_number(&trace->json, "line", frame->line);
    json_end(&trace->json);
    event_end(trace);
}

/* Stacks are sorted from the root: a box is as wide as stacks go on to begin with it. Readers want
 * a box before those in it. */
static bool flame_put(struct trace *trace, const struct flat *flat, unsigned type)
{
    const char *unit = profile_text(trace->profile, trace->profile->type[type].unit);
    int64_t width_us = trace->profile->duration_ns / NS_PER_US;
    size_t count = flat->stacks_count;
    int64_t *before = calloc(count + 1, sizeof *before);  /* the sum of all stacks before one */
    uint32_t *common = calloc(count + 1, sizeof *common); /* with the next stack */
    bool done = before && common;
    for (size_t i = 0; i < count && done; i++) {
        int64_t value = flat_value(flat, i, type);
        before[i + 1] = before[i] + (value > 0 ? value : 0);
        common[i] = i + 1 < count ? flat_common(flat, i, i + 1) : 0;
    }
    if (width_us < WIDTH_MIN_US)
        width_us = WIDTH_MIN_US;
    double scale = done && before[count] > 0 ? (double)width_us / (double)before[count] : 1;
    for (size_t i = 0; i < count && done; i++) {
        struct flat_stack stack = flat_stack(flat, i);
        for (uint32_t depth = i == 0 ? 0 : common[i - 1]; depth < stack.count; depth++) {
            size_t end = i + 1;
            while (common[end - 1] > depth)
                end++;
            if (before[end] > before[i])
                box_put(trace, &flat->frames[stack.frames[depth]],
                        (int64_t)((double)before[i] * scale),
                        (int64_t)((double)before[end] * scale), before[end] - before[i], unit);
        }
    }
    free(before);
    free(common);
    return done;
}

static bool perfetto(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct trace trace = {.profile = profile, .pid = profile->pid > 0 ? profile->pid : 1};
    struct flat flat;
    char title[256];
    const char *program = profile_text(profile, profile->program);
    bool done = flat_make(&flat, profile, &(struct flat_options){.lines = true});
    if (done) {
        char mark[ESTIMATE_TEXT];
        estimate_text(profile, mark);
        snprintf(title, sizeof title, "stacks: width is %.100s, not time%s%s",
                 profile_text(profile, profile->type[options->type].name), mark[0] ? " " : "",
                 mark);
        json_start(&trace.json, file, false);
        json_object(&trace.json, NULL);
        json_text(&trace.json, "displayTimeUnit", "ms");
        json_array(&trace.json, "traceEvents");
        name_put(&trace, "process_name", 0, program[0] != '\0' ? program : "profile");
        name_put(&trace, "thread_name", THREAD_MOMENTS, "snapshots and marks");
        name_put(&trace, "thread_name", THREAD_STACKS, title);
        times_put(&trace);
        done = flame_put(&trace, &flat, options->type);
        json_end(&trace.json);
        json_end(&trace.json);
        putc_unlocked('\n', file);
    }
    flat_free(&flat);
    return done;
}

const struct writer writer_perfetto = {
    .word = "perfetto",
    .ending = ".perfetto.json",
    .brief = "for ui.perfetto.dev and chrome://tracing",
    .values = WRITES_ONE,
    .write = perfetto,
};
const struct writer writer_trace = {
    .word = "trace",
    .ending = ".trace.json",
    .brief = "the same",
    .values = WRITES_ONE,
    .write = perfetto,
};
