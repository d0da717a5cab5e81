/* SPDX-License-Identifier: MIT */
/*
 * speedscope's JSON: a table of frames, and profiles that are either stacks with weights, the
 * outermost frame first, or events of functions that are entered and left. Of the latter each
 * stretch of time between two events is that of the stack that was open.
 *
 * All profiles of the file become one; where there are several, the label "profile" tells them
 * apart. The weights of each unit are a column.
 */
#include "tool/profile/read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"

enum { FRAMES_MAX = 4096 }; /* deeper stacks are those of damaged files */

static const struct {
    const char *unit, *type;
    enum value_unit type_unit;
    double factor;
} units[] = {
    {"bytes", "space", UNIT_BYTES, 1},
    {"nanoseconds", "cpu", UNIT_NANOSECONDS, 1},
    {"microseconds", "cpu", UNIT_NANOSECONDS, 1e3},
    {"milliseconds", "cpu", UNIT_NANOSECONDS, 1e6},
    {"seconds", "cpu", UNIT_NANOSECONDS, 1e9},
    {"none", "weight", UNIT_COUNT, 1},
};

struct scope {
    struct profile *profile;
    struct values values;
    uint32_t *locations; /* by frame */
    size_t frames;
    struct keys samples; /* stack and labels; numbers are those of samples */
    struct list sums;    /* double[PROFILE_TYPES_MAX] by sample */
    uint32_t *open;      /* the present stack, the outermost first */
    uint32_t *stack;     /* and leaf first */
    size_t depth;
    uint32_t labels;
    unsigned type, counts; /* the columns of the present profile */
    double factor;
};

static bool is(const struct read_input *input)
{
    static const char word[] = "speedscope.app/file-format-schema";
    size_t part = input->size < 4096 ? input->size : 4096;
    return input->size > 0 &&
           (memmem(input->bytes, part, word, sizeof word - 1) ||
            memmem(input->bytes + input->size - part, part, word, sizeof word - 1));
}

static bool text_is(struct values *values, uint32_t value, const char *wanted)
{
    size_t length;
    const char *text = value == 0 ? "" : value_text(values, value, &length);
    return value != 0 && length == strlen(wanted) && memcmp(text, wanted, length) == 0;
}

static uint32_t optional_string(struct scope *scope, uint32_t object, const char *member)
{
    uint32_t value = value_member(&scope->values, object, member);
    return value == 0 ? 0 : value_string(&scope->values, value, scope->profile);
}

static uint32_t optional_number(const struct scope *scope, uint32_t object, const char *member)
{
    int64_t number = value_member_integer(&scope->values, object, member);
    return number > 0 && number <= INT32_MAX ? (uint32_t)number : 0;
}

static bool take_frames(struct scope *scope, uint32_t frames)
{
    struct values *values = &scope->values;
    struct profile *profile = scope->profile;
    size_t count = 0;
    for (uint32_t at = value_first(values, frames); at != 0; at = value_after(values, frames, at))
        count++;
    scope->locations = calloc(count + 1, sizeof *scope->locations);
    scope->open = calloc(FRAMES_MAX, sizeof *scope->open);
    scope->stack = calloc(FRAMES_MAX, sizeof *scope->stack);
    if (!scope->locations || !scope->open || !scope->stack)
        return false;
    for (uint32_t at = value_first(values, frames); at != 0; at = value_after(values, frames, at)) {
        struct profile_function function = {.name = optional_string(scope, at, "name"),
                                            .file = optional_string(scope, at, "file")};
        function.system_name = function.name;
        struct profile_line line = {.function = profile_function(profile, &function),
                                    .line = optional_number(scope, at, "line"),
                                    .column = optional_number(scope, at, "col")};
        struct profile_location location = {.flags = LOCATION_LOOKED};
        scope->locations[scope->frames++] = profile_location(profile, &location, &line, 1);
    }
    return true;
}

/* The open stack weighs so much more. */
static void add(struct scope *scope, double weight, double count)
{
    struct profile *profile = scope->profile;
    bool fresh;
    for (size_t i = 0; i < scope->depth; i++)
        scope->stack[i] = scope->open[scope->depth - 1 - i];
    uint32_t stack = profile_stack(profile, scope->stack, (uint32_t)scope->depth);
    struct key key = {{stack, scope->labels, 0}};
    uint32_t sample = keys_add(&scope->samples, key, &fresh);
    if (fresh) {
        profile_sample(profile, stack, scope->labels);
        profile_list_add(profile, &scope->sums, sizeof(double[PROFILE_TYPES_MAX]));
    }
    if (profile->failed || sample >= scope->sums.count) {
        profile->failed = true;
        return;
    }
    double *sums = ((double(*)[PROFILE_TYPES_MAX])scope->sums.items)[sample];
    sums[scope->type] += weight * scope->factor;
    if (scope->counts != scope->type)
        sums[scope->counts] += count;
}

static bool open_frame(struct scope *scope, int64_t frame, struct read_error *error)
{
    if (frame < 0 || (size_t)frame >= scope->frames)
        return read_refuse(error, 0, "frame %lld is not in the table of %zu frames",
                           (long long)frame, scope->frames);
    if (scope->depth == FRAMES_MAX)
        return read_refuse(error, 0, "a stack has more than %d frames", FRAMES_MAX);
    scope->open[scope->depth++] = scope->locations[frame];
    return true;
}

static bool take_sampled(struct scope *scope, uint32_t from, struct read_error *error)
{
    struct values *values = &scope->values;
    uint32_t samples = value_member(values, from, "samples"),
             weights = value_member(values, from, "weights");
    if (samples == 0)
        return read_refuse(error, 0, "a sampled profile has no samples");
    uint32_t weight = weights == 0 ? 0 : value_first(values, weights);
    for (uint32_t at = value_first(values, samples); at != 0 && !scope->profile->failed;
         at = value_after(values, samples, at)) {
        scope->depth = 0;
        for (uint32_t frame = value_first(values, at); frame != 0;
             frame = value_after(values, at, frame))
            if (!open_frame(scope, value_integer(values, frame), error))
                return false;
        add(scope, weight == 0 ? 1 : value_real(values, weight), 1);
        if (weight != 0)
            weight = value_after(values, weights, weight);
    }
    return true;
}

static bool take_evented(struct scope *scope, uint32_t from, struct read_error *error)
{
    struct values *values = &scope->values;
    uint32_t events = value_member(values, from, "events"),
             start = value_member(values, from, "startValue");
    double before = start == 0 ? 0 : value_real(values, start);
    if (events == 0)
        return read_refuse(error, 0, "an evented profile has no events");
    scope->depth = 0;
    for (uint32_t at = value_first(values, events); at != 0 && !scope->profile->failed;
         at = value_after(values, events, at)) {
        uint32_t time = value_member(values, at, "at"), type = value_member(values, at, "type");
        double now = time == 0 ? before : value_real(values, time);
        if (now < before)
            return read_refuse(error, 0, "events go back in time");
        if (now > before && scope->depth > 0)
            add(scope, now - before, 1);
        before = now;
        if (text_is(values, type, "O")) {
            if (!open_frame(scope, value_member_integer(values, at, "frame"), error))
                return false;
        } else if (scope->depth > 0) {
            scope->depth--;
        }
    }
    return true;
}

/* A profile may be a column of one: our own writer says so by its name. */
static const char *column_named(struct scope *scope, uint32_t name)
{
    static const char *const known[] = {
        TYPE_ALLOC_OBJECTS,
        TYPE_ALLOC_SPACE,
        TYPE_INUSE_OBJECTS,
        TYPE_INUSE_SPACE,
        TYPE_PEAK_OBJECTS,
        TYPE_PEAK_SPACE,
        TYPE_ALLOC_REQUESTED,
        TYPE_INUSE_REQUESTED,
        "objects",
        "space",
        "samples",
        "cpu",
        "contentions",
        "delay",
        TYPE_TEMP_OBJECTS,
        TYPE_PEAK_REQUESTED,
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_is(&scope->values, name, known[i]))
            return known[i];
    return NULL;
}

static void choose_columns(struct scope *scope, uint32_t from, const char *column, bool sampled)
{
    struct profile *profile = scope->profile;
    uint32_t unit = value_member(&scope->values, from, "unit");
    size_t at = sizeof units / sizeof *units - 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text_is(&scope->values, unit, units[i].unit))
            at = i;
    bool space = units[at].type_unit == UNIT_BYTES;
    bool counted = sampled && !space && !column;
    scope->factor = units[at].factor;
    unsigned counts = counted ? profile_type(profile, TYPE_SAMPLES, UNIT_COUNT) : 0;
    scope->type = profile_type(profile, column ? column : units[at].type, units[at].type_unit);
    scope->counts = counted ? counts : scope->type;
    if (space)
        profile->kind = PROFILE_HEAP;
    else if (units[at].type_unit == UNIT_NANOSECONDS && profile->kind == PROFILE_OTHER)
        profile->kind = PROFILE_CPU;
}

static bool take_profile(struct scope *scope, uint32_t from, bool label, struct read_error *error)
{
    struct values *values = &scope->values;
    struct profile *profile = scope->profile;
    uint32_t type = value_member(values, from, "type"), name = value_member(values, from, "name");
    bool sampled = text_is(values, type, "sampled");
    const char *column = column_named(scope, name);
    if (!sampled && !text_is(values, type, "evented"))
        return read_refuse(error, 0, "a profile is neither sampled nor evented");
    choose_columns(scope, from, column, sampled);
    struct profile_label named = {.key = profile_string_of(profile, "profile"),
                                  .text = name == 0 ? 0 : value_string(values, name, profile)};
    scope->labels = label && !column && named.text != 0 ? profile_label_set(profile, &named, 1) : 0;
    return sampled ? take_sampled(scope, from, error) : take_evented(scope, from, error);
}

static bool take(struct scope *scope, struct read_error *error)
{
    struct values *values = &scope->values;
    struct profile *profile = scope->profile;
    uint32_t shared = value_member(values, 0, "shared");
    uint32_t frames = shared == 0 ? 0 : value_member(values, shared, "frames"),
             profiles = value_member(values, 0, "profiles");
    if (frames == 0 || profiles == 0)
        return read_refuse(error, 0, "speedscope's table of frames or list of profiles is missing");
    if (!take_frames(scope, frames)) {
        profile->failed = true;
        return true;
    }
    size_t length = 0;
    uint32_t title = value_member(values, 0, "name");
    const char *text = title == 0 ? NULL : value_text(values, title, &length);
    if (text)
        estimate_see(profile, text, length);
    uint32_t first = value_first(values, profiles);
    bool several = first != 0 && value_after(values, profiles, first) != 0;
    int64_t index = 0, active = value_member_integer(values, 0, "activeProfileIndex");
    for (uint32_t at = first; at != 0 && !profile->failed; at = value_after(values, profiles, at)) {
        if (!take_profile(scope, at, several, error))
            return false;
        if (index++ == active)
            profile->default_type = scope->type;
    }
    const double(*sums)[PROFILE_TYPES_MAX] = scope->sums.items;
    for (size_t i = 0; i < scope->sums.count && i < profile->samples.count; i++)
        for (unsigned type = 0; type < profile->types; type++)
            if (fabs(sums[i][type]) < 0x1p59)
                profile->samples.values[type][i] = (int64_t)llround(sums[i][type]);
    return true;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct scope scope = {.profile = profile};
    bool done = value_parse(&scope.values, input, error) && take(&scope, error);
    value_free(&scope.values);
    keys_free(&scope.samples);
    free(scope.sums.items);
    free(scope.locations);
    free(scope.open);
    free(scope.stack);
    return done;
}

const struct reader reader_speedscope = {.name = "speedscope", .is = is, .read = read};
