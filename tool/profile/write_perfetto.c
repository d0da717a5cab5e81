/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events in JSON, for ui.perfetto.dev and chrome://tracing: the heap over time as
 * counters, snapshots and marks as instants, and the stacks as a flame on a thread of its own. The
 * flame is as wide as the recording is long: there a share of the width is a share of the whole.
 * What a box stands for is in its arguments, to the byte.
 */
#include "tool/profile/write.h"

#include <stdlib.h>

#include "tool/profile/flat.h"
#include "tool/profile/json.h"

enum { THREAD_MOMENTS = 1, THREAD_STACKS = 2 };

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

static void box_end(struct trace *trace, int64_t time_ns, int64_t value, const char *unit)
{
    event(trace, "E", NULL, time_ns);
    json_number(&trace->json, "tid", THREAD_STACKS);
    json_object(&trace->json, "args");
    json_number(&trace->json, unit, value);
    json_end(&trace->json);
    event_end(trace);
}

static void box_start(struct trace *trace, int64_t time_ns, const struct flat_frame *frame)
{
    event(trace, "B", frame->name, time_ns);
    json_number(&trace->json, "tid", THREAD_STACKS);
    if (frame->file[0] != '\0') {
        json_object(&trace->json, "args");
        json_text(&trace->json, "file", frame->file);
        if (frame->line != 0)
            json_number(&trace->json, "line", frame->line);
        json_end(&trace->json);
    }
    event_end(trace);
}

/* Stacks are sorted from the root: a box is open as long as stacks begin with it. */
static bool flame_put(struct trace *trace, const struct flat *flat, unsigned type)
{
    const char *unit = profile_text(trace->profile, trace->profile->type[type].unit);
    int64_t width_ns = trace->profile->duration_ns, total = 0, at = 0;
    uint32_t depth = 0, most = 0;
    size_t last = 0;
    for (size_t i = 0; i < flat->stacks_count; i++) {
        total += flat_value(flat, i, type) > 0 ? flat_value(flat, i, type) : 0;
        most = flat->stacks[i].count > most ? flat->stacks[i].count : most;
    }
    double scale = width_ns > 0 && total > 0 ? (double)width_ns / (double)total : 1;
    int64_t *starts = calloc((size_t)most + 1, sizeof *starts);
    if (!starts)
        return false;
    for (size_t i = 0; i < flat->stacks_count; i++) {
        int64_t value = flat_value(flat, i, type), time_ns = (int64_t)((double)at * scale);
        const struct flat_stack *stack = &flat->stacks[i];
        if (value <= 0)
            continue;
        uint32_t common = depth == 0 ? 0 : flat_common(flat, last, i);
        for (; depth > common; depth--)
            box_end(trace, time_ns, at - starts[depth - 1], unit);
        for (; depth < stack->count; depth++) {
            starts[depth] = at;
            box_start(trace, time_ns, &flat->frames[flat->path[stack->first + depth]]);
        }
        at += value;
        last = i;
    }
    for (; depth > 0; depth--)
        box_end(trace, (int64_t)((double)at * scale), at - starts[depth - 1], unit);
    free(starts);
    return true;
}

static bool perfetto(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct trace trace = {.profile = profile, .pid = profile->pid > 0 ? profile->pid : 1};
    struct flat flat;
    char title[256];
    const char *program = profile_text(profile, profile->program);
    bool done = flat_make(&flat, profile, &(struct flat_options){.lines = true});
    if (done) {
        snprintf(title, sizeof title, "stacks: width is %s, not time",
                 profile_text(profile, profile->type[options->type].name));
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
        putc('\n', file);
    }
    flat_free(&flat);
    return done;
}

const struct writer writer_perfetto = {"perfetto", ".perfetto.json",
                                       "for ui.perfetto.dev and chrome://tracing", false, perfetto};
const struct writer writer_trace = {"trace", ".trace.json", "the same", false, perfetto};
