/* SPDX-License-Identifier: MIT */
/*
 * callgrind's output format, for callgrind_annotate and KCachegrind. All values are events, the
 * wanted one first, because readers sort by the first. Each function has the lines that cost
 * something, then its calls, each with what the callee cost, callees of that one included.
 *
 * Readers take a function's inclusive cost from the calls that others make of it, or, if there
 * are none, from its lines and the calls that it makes. So if a function is on a stack several
 * times only the outermost call counts; and a function that begins some stacks and is called in
 * others has a call by "(root)" for the former.
 *
 * How often functions were called is not known; where a call must have a number, it is that of
 * stacks that contain it. Of a large profile the calls do not fit into memory all at once:
 * they are collected for some callers at a time, from all stacks.
 */
#include "tool/profile/write/write.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"

struct call {
    uint32_t caller; /* frame */
    uint32_t callee; /* frame: the first of its function */
    uint32_t number; /* of its costs */
    uint64_t stacks;
};

struct grind {
    const struct profile *profile;
    FILE *file;
    struct flat flat;
    unsigned order[PROFILE_TYPES_MAX]; /* of the events: types */
    uint32_t *function;                /* by frame: the first frame of its function */
    int64_t *self;                     /* by frame, `types` each */
    uint64_t *often;                   /* by frame: how many calls all stacks have of it */
    struct map calls_map;
    struct call *calls; /* of some callers */
    int64_t *costs;     /* `types` each */
    size_t calls_count, calls_room, costs_room;
    bool *known;    /* by first frame: the function's name was there */
    uint32_t *seen; /* by first frame: stack + 1 that had the function already */
    uint8_t *ends;  /* by first frame: STARTS, ... */
};

/* The function starts a stack; is called in one; is called in one that it starts. */
enum { STARTS = 1, CALLED = 2, AGAIN = 4 };

static void costs_put(const struct grind *grind, const int64_t *values)
{
    for (unsigned i = 0; i < grind->flat.types; i++)
        fprintf(grind->file, " %" PRId64, values[grind->order[i]]);
    putc_unlocked('\n', grind->file);
}

/* Text on one line. */
static void field_put(const struct grind *grind, const char *key, const char *text)
{
    fputs(key, grind->file);
    line_put(text, grind->file);
    putc_unlocked('\n', grind->file);
}

/* Events are single words. */
static void event_put(const struct grind *grind, unsigned place)
{
    const struct profile *profile = grind->profile;
    const char *name = profile_text(profile, profile->type[grind->order[place]].name);
    for (; *name != '\0'; name++)
        putc_unlocked(isalnum((unsigned char)*name) ? *name : '_', grind->file);
}

static void head_put(const struct grind *grind)
{
    const struct profile *profile = grind->profile;
    int64_t total[PROFILE_TYPES_MAX] = {0};
    fputs("# callgrind format\nversion: 1\ncreator: memoir\n", grind->file);
    if (profile->pid > 0)
        fprintf(grind->file, "pid: %" PRId64 "\n", profile->pid);
    char *command = estimate_command(profile);
    field_put(grind, "cmd: ", command ? command : "");
    free(command);
    fputs("positions: line\n", grind->file);
    fputs("events:", grind->file);
    for (unsigned i = 0; i < profile->types; i++) {
        putc_unlocked(' ', grind->file);
        event_put(grind, i);
    }
    for (size_t i = 0; i < grind->flat.stacks_count; i++)
        for (unsigned type = 0; type < profile->types; type++)
            total[type] += flat_value(&grind->flat, i, type);
    fputs("\nsummary:", grind->file);
    costs_put(grind, total);
}

static int compare_calls(const void *one, const void *other)
{
    const struct call *a = one, *b = other;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* What leaves cost, and how many calls there are. */
static bool prepare(struct grind *grind)
{
    struct flat *flat = &grind->flat;
    grind->function = calloc(flat->frames_count + 1, sizeof *grind->function);
    grind->self = calloc(flat->frames_count + 1, (flat->types + 1) * sizeof *grind->self);
    grind->often = calloc(flat->frames_count + 1, sizeof *grind->often);
    grind->known = calloc(flat->frames_count + 1, sizeof *grind->known);
    grind->seen = calloc(flat->frames_count + 1, sizeof *grind->seen);
    grind->ends = calloc(flat->frames_count + 1, sizeof *grind->ends);
    if (!grind->function || !grind->self || !grind->often || !grind->known || !grind->seen ||
        !grind->ends)
        return false;
    for (uint32_t i = 1; i < flat->frames_count; i++)
        grind->function[i] = flat_same_function(flat, i - 1, i) ? grind->function[i - 1] : i;
    for (size_t i = 0; i < flat->stacks_count; i++) {
        struct flat_stack stack = flat_stack(flat, i);
        for (uint32_t k = 0; k + 1 < stack.count; k++)
            grind->often[stack.frames[k]]++;
        if (stack.count == 0)
            continue;
        uint32_t root = grind->function[stack.frames[0]];
        grind->ends[root] |= STARTS;
        for (uint32_t k = 1; k < stack.count; k++) {
            uint32_t function = grind->function[stack.frames[k]];
            grind->ends[function] |= function == root ? AGAIN : CALLED;
        }
        int64_t *self = grind->self + (size_t)stack.frames[stack.count - 1] * flat->types;
        for (unsigned type = 0; type < flat->types; type++)
            self[type] += flat_value(flat, i, type);
    }
    return true;
}

static const void *call_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct call *call = &((const struct grind *)context)->calls[number];
    *size = sizeof call->caller + sizeof call->callee;
    return call;
}

static struct call *call_find(struct grind *grind, uint32_t caller, uint32_t callee)
{
    struct call call = {.caller = caller, .callee = callee};
    size_t types = grind->flat.types, count = grind->calls_count;
    uint32_t number;
    if (!map_find(&grind->calls_map, grind, call_bytes, &call,
                  sizeof call.caller + sizeof call.callee, &number))
        return NULL;
    if (number != MAP_NONE)
        return &grind->calls[number];
    if (!list_reserve(&grind->calls, &grind->calls_room, count + 1, sizeof call) ||
        !list_reserve(&grind->costs, &grind->costs_room, (count + 1) * types, sizeof *grind->costs))
        return NULL;
    memset(grind->costs + count * types, 0, types * sizeof *grind->costs);
    call.number = (uint32_t)count;
    grind->calls[grind->calls_count++] = call;
    map_add(&grind->calls_map, call.number);
    return &grind->calls[count];
}

/* Adds the costs of a stack to a call. False when memory is out. */
static bool call_add(struct grind *grind, uint32_t caller, uint32_t callee, size_t stack)
{
    unsigned types = grind->flat.types;
    struct call *call = call_find(grind, caller, callee);
    if (!call)
        return false;
    call->stacks++;
    for (unsigned type = 0; type < types; type++)
        grind->costs[call->number * types + type] += flat_value(&grind->flat, stack, type);
    return true;
}

/* The calls of the frames [first, end); of each function of a stack the outermost one. */
static bool calls_collect(struct grind *grind, uint32_t first, uint32_t end)
{
    const struct flat *flat = &grind->flat;
    map_free(&grind->calls_map);
    grind->calls_count = 0;
    memset(grind->seen, 0, flat->frames_count * sizeof *grind->seen);
    for (size_t i = 0; i < flat->stacks_count; i++) {
        struct flat_stack stack = flat_stack(flat, i);
        if (stack.count > 0)
            grind->seen[grind->function[stack.frames[0]]] = (uint32_t)i + 1;
        for (uint32_t k = 0; k + 1 < stack.count; k++) {
            uint32_t callee = grind->function[stack.frames[k + 1]];
            bool again = grind->seen[callee] == i + 1;
            grind->seen[callee] = (uint32_t)i + 1;
            if (again || stack.frames[k] < first || stack.frames[k] >= end)
                continue;
            if (!call_add(grind, stack.frames[k], callee, i))
                return false;
        }
    }
    if (grind->calls_count > 0)
        qsort(grind->calls, grind->calls_count, sizeof *grind->calls, compare_calls);
    return true;
}

/* How many frames from `first` on have calls that fit into memory. */
static uint32_t callers_end(const struct grind *grind, uint32_t first)
{
    /* A part is a walk over all stacks: 16 at most, and none for less than a million calls. */
    enum { CALLS_MIN = 1 << 20, PARTS = 16 };
    uint64_t all = 0, some = 0;
    uint32_t end = first;
    for (uint32_t i = 0; i < grind->flat.frames_count; i++)
        all += grind->often[i];
    for (; end < grind->flat.frames_count; end++) {
        some += grind->often[end];
        if (end > first && some > CALLS_MIN && some > all / PARTS)
            break;
    }
    return end;
}

/* Which object, file and function follow; a number stands for a name that was there before. */
static void place_put(struct grind *grind, uint32_t frame, bool callee)
{
    const struct flat_frame *there = &grind->flat.frames[frame];
    const char *object = there->module[0] != '\0' ? there->module : "???";
    const char *path = there->file[0] != '\0' ? there->file : "???";
    field_put(grind, callee ? "cob=" : "ob=", object);
    field_put(grind, callee ? "cfi=" : "fl=", path);
    fprintf(grind->file, "%s=(%" PRIu32 ")", callee ? "cfn" : "fn", frame + 1);
    field_put(grind, grind->known[frame] ? "" : " ", grind->known[frame] ? "" : there->name);
    grind->known[frame] = true;
}

/* The calls of a frame, from `at` on. */
static size_t calls_put(struct grind *grind, uint32_t frame, size_t at)
{
    const struct flat *flat = &grind->flat;
    for (; at < grind->calls_count && grind->calls[at].caller == frame; at++) {
        const struct call *call = &grind->calls[at];
        place_put(grind, call->callee, true);
        fprintf(grind->file, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32, call->stacks,
                flat->frames[call->callee].line, flat->frames[frame].line);
        costs_put(grind, grind->costs + (size_t)call->number * flat->types);
    }
    return at;
}

static bool functions_put(struct grind *grind)
{
    const struct flat *flat = &grind->flat;
    uint32_t end = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < flat->frames_count; i++) {
        if (i == end) {
            end = callers_end(grind, i);
            at = 0;
            if (!calls_collect(grind, i, end))
                return false;
        }
        if (grind->function[i] == i) {
            putc_unlocked('\n', grind->file);
            place_put(grind, i, false);
        }
        fprintf(grind->file, "%" PRIu32, flat->frames[i].line);
        costs_put(grind, grind->self + (size_t)i * flat->types);
        at = calls_put(grind, i, at);
    }
    return true;
}

static bool is_split(const struct grind *grind, uint32_t function)
{
    return (grind->ends[function] & STARTS) && (grind->ends[function] & (CALLED | AGAIN));
}

/* The stacks that begin with a function that is called elsewhere, as calls by "(root)". */
static bool roots_put(struct grind *grind)
{
    const struct flat *flat = &grind->flat;
    uint32_t none = (uint32_t)flat->frames_count; /* a number that no frame has */
    map_free(&grind->calls_map);
    grind->calls_count = 0;
    for (size_t i = 0; i < flat->stacks_count; i++) {
        struct flat_stack stack = flat_stack(flat, i);
        if (stack.count == 0 || !is_split(grind, grind->function[stack.frames[0]]))
            continue;
        if (!call_add(grind, none, grind->function[stack.frames[0]], i))
            return false;
    }
    if (grind->calls_count > 0)
        fprintf(grind->file, "\nob=???\nfl=???\nfn=(%" PRIu32 ") (root)\n", none + 1);
    for (size_t at = 0; at < grind->calls_count; at++) {
        const struct call *call = &grind->calls[at];
        place_put(grind, call->callee, true);
        fprintf(grind->file, "calls=%" PRIu64 " %" PRIu32 "\n0", call->stacks,
                flat->frames[call->callee].line);
        costs_put(grind, grind->costs + (size_t)call->number * flat->types);
    }
    return true;
}

static bool callgrind(const struct profile *profile, const struct write_options *options,
                      FILE *file)
{
    struct grind grind = {.profile = profile, .file = file};
    grind.order[0] = options->type;
    for (unsigned i = 0, used = 1; i < profile->types; i++)
        if (i != options->type)
            grind.order[used++] = i;
    bool done =
        flat_make(&grind.flat, profile, &(struct flat_options){.lines = true, .starts = true}) &&
        prepare(&grind);
    if (done) {
        head_put(&grind);
        done = functions_put(&grind) && roots_put(&grind);
    }
    flat_free(&grind.flat);
    free(grind.function);
    free(grind.self);
    free(grind.often);
    free(grind.calls);
    free(grind.costs);
    map_free(&grind.calls_map);
    free(grind.known);
    free(grind.seen);
    free(grind.ends);
    return done;
}

const struct writer writer_callgrind = {
    .word = "callgrind",
    .ending = ".callgrind",
    .brief = "for callgrind_annotate and KCachegrind",
    .values = WRITES_ALL,
    .write = callgrind,
};
