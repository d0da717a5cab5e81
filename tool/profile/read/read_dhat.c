/* SPDX-License-Identifier: MIT */
/*
 * DHAT's JSON (valgrind --tool=dhat, and the Rust crate of that name): for each stack what was
 * allocated in all, at the program's peak ("g") and at its end ("e"), how long it lived, and how
 * often it was read and written. Its other modes, copies and events, have totals only.
 */
#include "tool/profile/read/read.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"

static const struct {
    const char *member, *name;
    enum value_unit unit;
    bool optional; /* a column only where the first stack has it */
} columns[] = {
    {"tbk", TYPE_ALLOC_OBJECTS, UNIT_COUNT, false},
    {"tb", TYPE_ALLOC_SPACE, UNIT_BYTES, false},
    {"ebk", TYPE_INUSE_OBJECTS, UNIT_COUNT, true},
    {"eb", TYPE_INUSE_SPACE, UNIT_BYTES, true},
    {"gbk", TYPE_PEAK_OBJECTS, UNIT_COUNT, true},
    {"gb", TYPE_PEAK_SPACE, UNIT_BYTES, true},
    {"tl", "lifetime", UNIT_INSTRUCTIONS, true},
    {"rb", "read", UNIT_BYTES, true},
    {"wb", "written", UNIT_BYTES, true},
};

struct dhat {
    struct profile *profile;
    struct values values;
    struct frames known;
    struct frame *frames, *stack;
    size_t frame_count, stack_room;
    bool heap;
};

static bool is(const struct read_input *input)
{
    static const char word[] = "\"dhatFileVersion\"";
    size_t head = input->size < 256 ? input->size : 256;
    return input->size > 0 && memmem(input->bytes, head, word, sizeof word - 1) != NULL;
}

static size_t count_of(const struct values *values, uint32_t array)
{
    size_t count = 0;
    for (uint32_t at = value_first(values, array); at != 0; at = value_after(values, array, at))
        count++;
    return count;
}

static bool take_frames(struct dhat *dhat, uint32_t table)
{
    struct values *values = &dhat->values;
    size_t count = count_of(values, table);
    dhat->frames = calloc(count + 1, sizeof *dhat->frames);
    if (!dhat->frames)
        return false;
    for (uint32_t at = value_first(values, table); at != 0; at = value_after(values, table, at)) {
        size_t length;
        const char *text = value_text(values, at, &length);
        dhat->frames[dhat->frame_count++] =
            frames_valgrind(&dhat->known, dhat->profile, (struct cursor){text, text + length});
    }
    return true;
}

static uint32_t stack_of(struct dhat *dhat, uint32_t numbers)
{
    struct values *values = &dhat->values;
    size_t count = count_of(values, numbers), used = 0;
    if (!list_reserve(&dhat->stack, &dhat->stack_room, count, sizeof *dhat->stack)) {
        dhat->profile->failed = true;
        return 0;
    }
    for (uint32_t at = value_first(values, numbers); at != 0;
         at = value_after(values, numbers, at)) {
        int64_t number = value_integer(values, at);
        if (number > 0 && (size_t)number < dhat->frame_count)
            dhat->stack[used++] = dhat->frames[number]; /* [0] is the root of all */
    }
    return frames_stack(&dhat->known, dhat->profile, dhat->stack, used);
}

static void take_points(struct dhat *dhat, uint32_t points)
{
    struct profile *profile = dhat->profile;
    struct values *values = &dhat->values;
    unsigned types[sizeof columns / sizeof *columns];
    uint32_t first = value_first(values, points);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        bool there = first != 0 && value_member(values, first, columns[i].member) != 0;
        const char *name = columns[i].name;
        enum value_unit unit = columns[i].unit;
        if (!dhat->heap && i == 0)
            name = "events";
        if (!dhat->heap && i == 1)
            name = "units", unit = UNIT_COUNT;
        types[i] = there || !columns[i].optional ? profile_type(profile, name, unit) : UINT32_MAX;
    }
    for (uint32_t at = first; at != 0 && !profile->failed; at = value_after(values, points, at)) {
        uint32_t numbers = value_member(values, at, "fs");
        uint32_t stack = numbers == 0 ? 0 : stack_of(dhat, numbers);
        size_t sample = profile_sample(profile, stack, 0);
        for (size_t i = 0; i < sizeof columns / sizeof *columns && !profile->failed; i++)
            if (types[i] != UINT32_MAX) {
                int64_t value = value_member_integer(values, at, columns[i].member);
                int64_t max = INT64_C(1) << 59;
                profile->samples.values[types[i]][sample] = value < 0     ? 0
                                                            : value < max ? value
                                                                          : max;
            }
    }
    profile->default_type = 1;
}

static bool take(struct dhat *dhat, struct read_error *error)
{
    struct profile *profile = dhat->profile;
    struct values *values = &dhat->values;
    uint32_t mode = value_member(values, 0, "mode"), points = value_member(values, 0, "pps"),
             table = value_member(values, 0, "ftbl"), command = value_member(values, 0, "cmd");
    int64_t version = value_member_integer(values, 0, "dhatFileVersion");
    size_t length = 4;
    const char *text = mode == 0 ? "heap" : value_text(values, mode, &length);
    if (version != 2)
        return read_refuse(error, 0, "version %lld of DHAT's format is not supported, only 2",
                           (long long)version);
    if (points == 0 || table == 0)
        return read_refuse(error, 0, "DHAT's list of stacks (pps) or of frames (ftbl) is missing");
    dhat->heap = (length == 4 && memcmp(text, "heap", 4) == 0) ||
                 (length == 9 && memcmp(text, "rust-heap", 9) == 0);
    profile->kind = dhat->heap ? PROFILE_HEAP : PROFILE_OTHER;
    profile->pid = value_member_integer(values, 0, "pid");
    if (command != 0) {
        profile->command = value_string(values, command, profile);
        text = value_text(values, command, &length);
        const char *space = memchr(text, ' ', length);
        profile->program = profile_string(profile, text, space ? (size_t)(space - text) : length);
    }
    if (!take_frames(dhat, table)) {
        profile->failed = true;
        return true;
    }
    take_points(dhat, points);
    profile->ended = true; /* it is written at the end */
    return true;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct dhat dhat = {.profile = profile};
    bool done = value_parse(&dhat.values, input, error) && take(&dhat, error);
    value_free(&dhat.values);
    frames_free(&dhat.known);
    free(dhat.frames);
    free(dhat.stack);
    return done;
}

const struct reader reader_dhat = {.name = "DHAT", .is = is, .read = read};
