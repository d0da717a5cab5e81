/* SPDX-License-Identifier: MIT */
/*
 * callgrind's output format, for callgrind_annotate and KCachegrind. All values are events, the
 * wanted one first, because readers sort by the first. Each function has the lines that cost
 * something, then its calls, each with what the callee cost, callees of that one included.
 *
 * How often functions were called is not known; where a call must have a number, it is that of
 * stacks that contain it.
 */
#include "tool/profile/write.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/flat.h"
#include "tool/profile/line.h"

/* In one stack. */
struct call {
    uint32_t caller; /* frame */
    uint32_t callee; /* frame: the first of its function */
    size_t stack;
};

struct grind {
    const struct profile *profile;
    FILE *file;
    struct flat flat;
    unsigned order[PROFILE_TYPES_MOST]; /* of the events: types */
    uint32_t *function;                 /* by frame: the first frame of its function */
    int64_t *self;                      /* by frame, `types` each */
    struct call *calls;
    size_t calls_count;
    bool *known; /* by first frame: the function's name was there */
};

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
    int64_t total[PROFILE_TYPES_MOST] = {0};
    fputs("# callgrind format\nversion: 1\ncreator: memoir\n", grind->file);
    if (profile->pid > 0)
        fprintf(grind->file, "pid: %" PRId64 "\n", profile->pid);
    field_put(grind, "cmd: ",
              profile_text(profile, profile->command ? profile->command : profile->program));
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
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* Who called whom in which stack, and what leaves cost. */
static bool prepare(struct grind *grind)
{
    struct flat *flat = &grind->flat;
    size_t most = 0;
    for (size_t i = 0; i < flat->stacks_count; i++)
        most += flat->stacks[i].count;
    grind->function = calloc(flat->frames_count + 1, sizeof *grind->function);
    grind->self = calloc(flat->frames_count + 1, (flat->types + 1) * sizeof *grind->self);
    grind->calls = calloc(most + 1, sizeof *grind->calls);
    grind->known = calloc(flat->frames_count + 1, sizeof *grind->known);
    if (!grind->function || !grind->self || !grind->calls || !grind->known)
        return false;
    for (uint32_t i = 1; i < flat->frames_count; i++)
        grind->function[i] = flat_same_function(flat, i - 1, i) ? grind->function[i - 1] : i;
    for (size_t i = 0; i < flat->stacks_count; i++) {
        const struct flat_stack *stack = &flat->stacks[i];
        const uint32_t *path = flat->path + stack->first;
        for (uint32_t k = 0; k + 1 < stack->count; k++)
            grind->calls[grind->calls_count++] =
                (struct call){path[k], grind->function[path[k + 1]], i};
        if (stack->count == 0)
            continue;
        int64_t *self = grind->self + (size_t)path[stack->count - 1] * flat->types;
        for (unsigned type = 0; type < flat->types; type++)
            self[type] += flat_value(flat, i, type);
    }
    qsort(grind->calls, grind->calls_count, sizeof *grind->calls, compare_calls);
    return true;
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

/* The calls of a frame, from `at` on; a stack that has a call more than once counts once. */
static size_t calls_put(struct grind *grind, uint32_t frame, size_t at)
{
    const struct flat *flat = &grind->flat;
    const struct call *calls = grind->calls;
    while (at < grind->calls_count && calls[at].caller == frame) {
        int64_t cost[PROFILE_TYPES_MOST] = {0};
        uint32_t callee = calls[at].callee;
        uint64_t stacks = 0;
        for (; at < grind->calls_count && calls[at].caller == frame && calls[at].callee == callee;
             at++) {
            if (stacks > 0 && calls[at].stack == calls[at - 1].stack)
                continue;
            stacks++;
            for (unsigned type = 0; type < flat->types; type++)
                cost[type] += flat_value(flat, calls[at].stack, type);
        }
        place_put(grind, callee, true);
        fprintf(grind->file, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32, stacks,
                flat->frames[callee].line, flat->frames[frame].line);
        costs_put(grind, cost);
    }
    return at;
}

static void functions_put(struct grind *grind)
{
    const struct flat *flat = &grind->flat;
    size_t at = 0;
    for (uint32_t i = 0; i < flat->frames_count; i++) {
        if (grind->function[i] == i) {
            putc_unlocked('\n', grind->file);
            place_put(grind, i, false);
        }
        fprintf(grind->file, "%" PRIu32, flat->frames[i].line);
        costs_put(grind, grind->self + (size_t)i * flat->types);
        at = calls_put(grind, i, at);
    }
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
        flat_make(&grind.flat, profile, &(struct flat_options){.lines = true}) && prepare(&grind);
    if (done) {
        head_put(&grind);
        functions_put(&grind);
    }
    flat_free(&grind.flat);
    free(grind.function);
    free(grind.self);
    free(grind.calls);
    free(grind.known);
    return done;
}

const struct writer writer_callgrind = {"callgrind", ".callgrind",
                                        "for callgrind_annotate and KCachegrind", false, callgrind};
