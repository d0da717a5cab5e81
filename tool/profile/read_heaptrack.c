/* SPDX-License-Identifier: MIT */
/*
 * What `heaptrack` writes once its interpreter has put names in: a text of one record a line, most
 * of them "+ INFO" and "- INFO", an allocation or a free of a size at a stack. The heap is played
 * again from them; a second run over them stops where the heap was largest.
 *
 * Sizes are as asked for: heaptrack does not know more. A "temporary" block is one whose free comes
 * right behind its allocation.
 */
#include "tool/profile/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/cursor.h"

enum { FRAMES_MOST = 4096, LINES_MOST = 64, NO_INFO = UINT32_MAX };

struct trace {
    uint32_t location, caller; /* caller: from 1 */
};

struct info {
    uint64_t size;
    uint32_t trace; /* from 1; 0: none */
    uint32_t temporary;
    uint64_t allocated, freed, at_peak;
};

struct heaptrack {
    struct profile *profile;
    uint64_t version, page_size, records;
    struct profile_list strings;   /* uint32_t: of the profile */
    struct profile_list modules;   /* uint32_t by string: mapping + 1, 0: not made */
    struct profile_list addresses; /* uint32_t: locations */
    struct profile_list traces;    /* struct trace */
    struct profile_list infos;     /* struct info */
    uint64_t live, allocated, objects, frees, peak, peak_record, now_ms, peak_ms;
    uint32_t last; /* the info of the allocation before */
    bool raw;
};

/* ---- records that describe ---- */

static uint32_t list_number(const struct profile_list *list, uint64_t index)
{
    return index > 0 && index <= list->count ? ((const uint32_t *)list->items)[index - 1] : 0;
}

static void take_string(struct heaptrack *track, struct cursor line)
{
    uint64_t length;
    if (track->version >= 3 && !cursor_number(&line, 16, &length))
        return;
    if (line.at < line.end && *line.at == ' ')
        line.at++;
    uint32_t *kept = profile_list_add(track->profile, &track->strings, sizeof *kept);
    if (kept)
        *kept = profile_string(track->profile, line.at, cursor_left(&line));
}

static uint32_t mapping_of(struct heaptrack *track, uint64_t module)
{
    struct profile *profile = track->profile;
    if (module == 0 || module > track->strings.count)
        return 0;
    while (track->modules.count < module)
        if (!profile_list_add(profile, &track->modules, sizeof(uint32_t)))
            return 0;
    uint32_t *made = (uint32_t *)track->modules.items + module - 1;
    if (*made == 0) {
        struct profile_mapping mapping = {.path = list_number(&track->strings, module),
                                          .has_functions = true,
                                          .has_files = true,
                                          .has_lines = true,
                                          .has_inlines = true};
        *made = profile_mapping(profile, &mapping) + 1;
    }
    return *made - 1;
}

/* The innermost function first, then those it was inlined in. */
static void take_address(struct heaptrack *track, struct cursor line)
{
    struct profile *profile = track->profile;
    struct profile_line lines[LINES_MOST];
    struct profile_location location = {.flags = LOCATION_LOOKED | LOCATION_EXACT};
    uint64_t module = 0, function, file, number;
    uint32_t count = 0;
    cursor_number(&line, 16, &location.address);
    cursor_number(&line, 16, &module);
    while (count < LINES_MOST && cursor_number(&line, 16, &function)) {
        if (!cursor_number(&line, 16, &file) || !cursor_number(&line, 16, &number))
            file = number = 0;
        struct profile_function made = {.name = list_number(&track->strings, function),
                                        .file = list_number(&track->strings, file)};
        made.system_name = made.name;
        if (made.name == 0)
            continue;
        lines[count++] = (struct profile_line){.function = profile_function(profile, &made),
                                               .line = number <= INT32_MAX ? (uint32_t)number : 0};
    }
    mapping_of(track, 1); /* the program, which is to be the first */
    location.mapping = mapping_of(track, module);
    uint32_t *kept = profile_list_add(profile, &track->addresses, sizeof *kept);
    if (kept)
        *kept = profile_location(profile, &location, lines, count);
}

static void take_trace(struct heaptrack *track, struct cursor line)
{
    uint64_t address = 0, caller = 0;
    cursor_number(&line, 16, &address);
    cursor_number(&line, 16, &caller);
    struct trace *kept = profile_list_add(track->profile, &track->traces, sizeof *kept);
    if (!kept)
        return;
    kept->location = address > 0 && address <= track->addresses.count
                         ? list_number(&track->addresses, address)
                         : UINT32_MAX;
    kept->caller = caller < track->traces.count ? (uint32_t)caller : 0; /* an earlier one */
}

static void take_info(struct heaptrack *track, struct cursor line)
{
    uint64_t size = 0, trace = 0;
    cursor_number(&line, 16, &size);
    cursor_number(&line, 16, &trace);
    struct info *kept = profile_list_add(track->profile, &track->infos, sizeof *kept);
    if (!kept)
        return;
    kept->size = size < UINT64_C(1) << 48 ? size : UINT64_C(1) << 48;
    kept->trace = trace <= track->traces.count ? (uint32_t)trace : 0;
}

static void take_command(struct heaptrack *track, struct cursor line)
{
    struct profile *profile = track->profile;
    cursor_trim(&line);
    profile->command = profile_string(profile, line.at, cursor_left(&line));
    struct cursor program = cursor_until(&line, ' ');
    profile->program = profile_string(profile, program.at, cursor_left(&program));
}

/* ---- records that happen ---- */

static struct info *info_of(struct heaptrack *track, struct cursor line)
{
    uint64_t index;
    if (!cursor_number(&line, 16, &index) || index >= track->infos.count)
        return NULL;
    return (struct info *)track->infos.items + index;
}

static void take_alloc(struct heaptrack *track, struct cursor line)
{
    struct info *info = info_of(track, line);
    if (!info)
        return;
    track->last = (uint32_t)(info - (struct info *)track->infos.items);
    info->allocated++;
    track->objects++;
    track->allocated += info->size;
    track->live += info->size;
    if (track->live > track->peak) {
        track->peak = track->live;
        track->peak_record = track->records;
        track->peak_ms = track->now_ms;
    }
}

static void take_free(struct heaptrack *track, struct cursor line)
{
    struct info *info = info_of(track, line);
    if (!info || info->freed >= info->allocated)
        return;
    info->freed++;
    track->frees++;
    track->live -= info->size;
    if (track->last == (uint32_t)(info - (struct info *)track->infos.items))
        info->temporary++;
    track->last = NO_INFO;
}

static void take_time(struct heaptrack *track, struct cursor line)
{
    uint64_t ms;
    if (!cursor_number(&line, 16, &ms) || ms > INT64_MAX / 1000000)
        return;
    track->now_ms = ms;
    struct profile_point *point =
        profile_list_add(track->profile, &track->profile->points, sizeof *point);
    if (point)
        *point = (struct profile_point){.time_ns = (int64_t)ms * 1000000,
                                        .live_bytes = track->live,
                                        .allocated_bytes = track->allocated,
                                        .allocated_objects = track->objects};
    track->profile->duration_ns = (int64_t)ms * 1000000;
}

static void take_resident(struct heaptrack *track, struct cursor line)
{
    struct profile *profile = track->profile;
    uint64_t pages, bytes;
    if (!cursor_number(&line, 16, &pages) ||
        __builtin_mul_overflow(pages, track->page_size, &bytes) || profile->points.count == 0)
        return;
    ((struct profile_point *)profile->points.items)[profile->points.count - 1].resident_bytes =
        bytes;
    profile->resident_bytes = bytes;
}

/* heaptrack joined a program that ran: frees of what was there before do not count. */
static void take_attached(struct heaptrack *track)
{
    profile_warn(track->profile,
                 "heaptrack was attached to a running program: blocks from before are not here");
}

static void take_record(struct heaptrack *track, struct cursor line)
{
    char kind = line.at < line.end ? *line.at++ : '\n';
    track->records++;
    switch (kind) {
    case '+':
        take_alloc(track, line);
        break;
    case '-':
        take_free(track, line);
        break;
    case 's':
        take_string(track, line);
        break;
    case 'i':
        take_address(track, line);
        break;
    case 't':
        take_trace(track, line);
        break;
    case 'a':
        take_info(track, line);
        break;
    case 'c':
        take_time(track, line);
        break;
    case 'R':
        take_resident(track, line);
        break;
    case 'I':
        cursor_number(&line, 16, &track->page_size);
        break;
    case 'X':
        take_command(track, line);
        break;
    case 'A':
        take_attached(track);
        break;
    case 'x':
    case 'm':
        track->raw = true;
        break;
    default: /* comments, suppressions, and what a later version adds */
        break;
    }
}

/* The blocks that were live when the heap was largest. */
static void play_to_peak(struct heaptrack *track, struct cursor file)
{
    struct cursor line;
    for (uint64_t record = 0; record < track->peak_record && cursor_line(&file, &line);) {
        char kind = line.at < line.end ? *line.at++ : '\n';
        struct info *info = kind == '+' || kind == '-' ? info_of(track, line) : NULL;
        record++;
        if (info && kind == '+')
            info->at_peak++;
        else if (info && info->at_peak > 0)
            info->at_peak--;
    }
}

/* ---- samples ---- */

static uint32_t stack_of(struct heaptrack *track, uint32_t trace)
{
    static uint32_t locations[FRAMES_MOST];
    const struct trace *traces = track->traces.items;
    uint32_t count = 0;
    for (; trace > 0 && count < FRAMES_MOST; trace = traces[trace - 1].caller)
        if (traces[trace - 1].location != UINT32_MAX)
            locations[count++] = traces[trace - 1].location;
    return profile_stack(track->profile, locations, count);
}

static void make_samples(struct heaptrack *track)
{
    struct profile *profile = track->profile;
    const struct info *infos = track->infos.items;
    uint32_t bytes = profile_string_of(profile, "bytes");
    for (size_t i = 0; i < track->infos.count && !profile->failed; i++) {
        const struct info *info = &infos[i];
        struct profile_label label = {.key = bytes, .unit = bytes, .number = (int64_t)info->size};
        uint64_t live = info->allocated - info->freed, space;
        const uint64_t objects[] = {info->allocated, live, info->at_peak};
        if (info->allocated == 0)
            continue;
        size_t sample = profile_sample(profile, stack_of(track, info->trace),
                                       profile_label_set(profile, &label, 1));
        if (profile->failed)
            return;
        for (unsigned k = 0; k < sizeof objects / sizeof *objects; k++) {
            if (__builtin_mul_overflow(objects[k], info->size, &space) || space > INT64_MAX / 16)
                space = INT64_MAX / 16;
            profile->samples.values[k * 2][sample] = (int64_t)objects[k];
            profile->samples.values[k * 2 + 1][sample] = (int64_t)space;
        }
        profile->samples.values[6][sample] = info->temporary;
    }
}

static bool is(const struct read_input *input)
{
    struct cursor line, file = {input->bytes, input->bytes + input->size};
    uint64_t number;
    return cursor_line(&file, &line) && cursor_take(&line, "v ") &&
           cursor_number(&line, 16, &number) && cursor_number(&line, 16, &number) &&
           line.at == line.end;
}

static bool finish(struct heaptrack *track, const struct read_input *input,
                   struct read_error *error)
{
    struct profile *profile = track->profile;
    if (track->raw)
        return read_refuse(error, 0,
                           "this is heaptrack's recording before its names were put in: "
                           "heaptrack_interpret < FILE > FILE.interpreted");
    if (track->infos.count == 0)
        return read_refuse(error, input->size, "there is no allocation in it");
    if (input->bytes[input->size - 1] != '\n') {
        profile->torn = true;
        profile_warn(profile, "the last line is cut off");
    }
    play_to_peak(track, (struct cursor){input->bytes, input->bytes + input->size});
    profile->kind = PROFILE_HEAP;
    profile->peak_time_ns = (int64_t)track->peak_ms * 1000000;
    profile->exact_allocs = (int64_t)track->objects;
    profile->exact_frees = (int64_t)track->frees;
    profile->exact_alloc_bytes = (int64_t)track->allocated;
    profile->ended = !profile->torn;
    make_samples(track);
    return true;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    static const char *const types[][2] = {
        {"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
        {"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
        {"temp_objects", "count"},
    };
    struct heaptrack track = {.profile = profile, .page_size = 4096, .last = NO_INFO};
    struct cursor line, file = {input->bytes, input->bytes + input->size};
    uint64_t program;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        profile_type(profile, types[i][0], types[i][1]);
    profile->default_type = 3;
    cursor_line(&file, &line);
    cursor_take(&line, "v ");
    cursor_number(&line, 16, &program);
    cursor_number(&line, 16, &track.version);
    track.records = 1; /* the head is one */
    bool done;
    if (track.version > 3) {
        done = read_refuse(error, 0,
                           "heaptrack's format %" PRIu64 " is newer than what is known here (3)",
                           track.version);
    } else {
        while (!profile->failed && cursor_line(&file, &line))
            take_record(&track, line);
        done = finish(&track, input, error);
    }
    free(track.strings.items);
    free(track.modules.items);
    free(track.addresses.items);
    free(track.traces.items);
    free(track.infos.items);
    return done;
}

const struct reader reader_heaptrack = {"heaptrack", is, read};
