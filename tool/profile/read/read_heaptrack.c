/* SPDX-License-Identifier: MIT */
/*
 * What `heaptrack` writes: a text of one record a line, most of them "+ INFO" and "- INFO", an
 * allocation or a free of a size at a stack. Files without names, as it records them, are read as
 * well (read_heaptrack_raw.c).
 *
 * Sizes are as asked for: heaptrack does not know more. A "temporary" block is one whose free comes
 * right behind its allocation.
 */
#include "tool/profile/read/read_heaptrack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

/* Deeper stacks and longer chains of inlined calls are those of damaged files. */
enum { FRAMES_MAX = 4096, LINES_MAX = 64, NS_PER_MS = 1000000 };

struct replay {
    struct heaptrack *track;
    struct cursor file;  /* of a file with names: what is left of it */
    uint64_t events, at; /* so far; the one that inuse_* is of, 0: the end */
    size_t wanted;       /* else the point of time that it is of; SIZE_MAX: none */
    size_t point;
    float (*history)[PROFILE_MOMENTS_MAX]; /* by info */
};

static bool is(const struct read_input *input);
static bool read(const struct read_input *input, struct profile *profile, struct read_error *error);

const struct reader reader_heaptrack = {
    .name = "heaptrack", .is = is, .read = read, .traits = TRAIT_MOMENTS};

/* ---- records that describe ---- */

bool heaptrack_text(const struct heaptrack *track, struct cursor *line, struct cursor *text)
{
    uint64_t length = 0;
    if (track->version >= 3 && !cursor_number(line, 16, &length))
        return false;
    if (line->at < line->end && *line->at == ' ')
        line->at++;
    *text = *line;
    if (track->version < 3)
        *text = cursor_until(line, ' ');
    else if (length < cursor_left(text))
        text->end = text->at + length;
    line->at = text->end < line->at ? line->at : text->end;
    return true;
}

static uint32_t list_number(const struct list *list, uint64_t index)
{
    return index > 0 && index <= list->count ? ((const uint32_t *)list->items)[index - 1] : 0;
}

static void take_string(struct heaptrack *track, struct cursor line)
{
    struct cursor text = line;
    if (track->version >= 3 && !heaptrack_text(track, &line, &text))
        return;
    if (track->version < 3)
        cursor_take(&text, " ");
    uint32_t *kept = profile_list_add(track->profile, &track->strings, sizeof *kept);
    if (kept)
        *kept = profile_string(track->profile, text.at, cursor_left(&text));
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
    struct profile_line lines[LINES_MAX];
    struct profile_location location = {.flags = LOCATION_LOOKED | LOCATION_EXACT};
    uint64_t module = 0, function, file, number;
    uint32_t count = 0;
    cursor_number(&line, 16, &location.address);
    cursor_number(&line, 16, &module);
    while (count < LINES_MAX && cursor_number(&line, 16, &function)) {
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
    struct heaptrack_trace *kept = profile_list_add(track->profile, &track->traces, sizeof *kept);
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
    struct heaptrack_info *kept = profile_list_add(track->profile, &track->infos, sizeof *kept);
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
    if (track->raw.program == 0)
        profile->program = profile_string(profile, program.at, cursor_left(&program));
}

/* ---- records that happen ---- */

static uint32_t info_of(const struct heaptrack *track, struct cursor line)
{
    uint64_t index;
    return cursor_number(&line, 16, &index) && index < track->infos.count ? (uint32_t)index
                                                                          : HEAPTRACK_NONE;
}

static void take_alloc(struct heaptrack *track, struct cursor line)
{
    uint32_t number = track->raw.is ? heaptrack_raw_alloc(track, line) : info_of(track, line);
    if (number == HEAPTRACK_NONE)
        return;
    struct heaptrack_info *info = (struct heaptrack_info *)track->infos.items + number;
    track->last = number;
    track->events++;
    info->allocated++;
    track->objects++;
    track->allocated += info->size;
    track->live += info->size;
    if (track->live > track->peak) {
        track->peak = track->live;
        track->peak_event = track->events;
        track->peak_ms = track->now_ms;
    }
}

static void take_free(struct heaptrack *track, struct cursor line)
{
    uint32_t number = track->raw.is ? heaptrack_raw_free(track, line) : info_of(track, line);
    if (number == HEAPTRACK_NONE)
        return;
    struct heaptrack_info *info = (struct heaptrack_info *)track->infos.items + number;
    track->events++;
    if (info->freed >= info->allocated)
        return;
    info->freed++;
    track->frees++;
    track->live -= info->size;
    if (track->last == number)
        info->temporary++;
    track->last = HEAPTRACK_NONE;
}

static void take_time(struct heaptrack *track, struct cursor line)
{
    uint64_t ms;
    track->events++;
    if (track->raw.is)
        heaptrack_raw_event(track, HEAPTRACK_NONE);
    if (!cursor_number(&line, 16, &ms) || ms > INT64_MAX / NS_PER_MS)
        ms = track->now_ms;
    track->now_ms = ms;
    struct profile_point *point =
        profile_list_add(track->profile, &track->profile->points, sizeof *point);
    if (point)
        *point = (struct profile_point){.time_ns = (int64_t)ms * NS_PER_MS,
                                        .live_bytes = track->live,
                                        .allocated_bytes = track->allocated,
                                        .allocated_objects = track->objects};
    track->profile->duration_ns = (int64_t)ms * NS_PER_MS;
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
    profile_warn(track->profile, "heaptrack was attached to a running program: earlier blocks are "
                                 "missing");
}

static void take_record(struct heaptrack *track, struct cursor line)
{
    char kind = line.at < line.end ? *line.at++ : '\n';
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
        if (track->raw.is)
            heaptrack_raw_trace(track, line);
        else
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
        heaptrack_raw_program(track, line);
        break;
    case 'm':
        heaptrack_raw_module(track, line);
        break;
    default: /* comments, suppressions, and what a later version adds */
        break;
    }
}

/* ---- the second time ---- */

/* Whether the history has this point of time: evenly over the run, the last among them. */
static bool is_moment(const struct profile *profile, size_t point)
{
    size_t count = profile->points.count, max = PROFILE_MOMENTS_MAX;
    return count <= max || (point + 1) * max / count != point * max / count;
}

/* The next event: '+', '-' or 'c', and the info; '\0': there are no more. */
static char event_next(struct replay *replay, uint32_t *info)
{
    const struct heaptrack *track = replay->track;
    struct cursor line;
    if (track->raw.is) {
        uint32_t event;
        if (replay->events >= track->raw.events.count)
            return '\0';
        event = ((const uint32_t *)track->raw.events.items)[replay->events];
        *info = event / 2;
        return event == HEAPTRACK_NONE ? 'c' : event & 1 ? '-' : '+';
    }
    while (cursor_line(&replay->file, &line)) {
        char kind = line.at < line.end ? *line.at++ : '\n';
        if (kind == 'c')
            return kind;
        if (kind != '+' && kind != '-')
            continue;
        *info = info_of(track, line);
        if (*info != HEAPTRACK_NONE)
            return kind;
    }
    return '\0';
}

static void time_passes(struct replay *replay)
{
    struct profile *profile = replay->track->profile;
    const struct heaptrack_info *infos = replay->track->infos.items;
    size_t point = replay->point++;
    if (point >= profile->points.count)
        return;
    const struct profile_point *there = (struct profile_point *)profile->points.items + point;
    if (point == replay->wanted)
        replay->at = replay->events;
    if (!is_moment(profile, point) || profile->history_moments >= PROFILE_MOMENTS_MAX)
        return;
    unsigned column = profile->history_moments++;
    for (size_t i = 0; i < replay->track->infos.count; i++)
        replay->history[i][column] = (float)infos[i].now * (float)infos[i].size;
    struct profile_moment *moment = profile_list_add(profile, &profile->moments, sizeof *moment);
    if (moment)
        *moment = (struct profile_moment){
            .time_ns = there->time_ns, .live_bytes = there->live_bytes, .rows = true};
}

/* Which blocks were live when the heap was largest, and at the moments of the history. */
static bool replay_all(struct replay *replay)
{
    struct heaptrack *track = replay->track;
    struct heaptrack_info *infos = track->infos.items;
    uint32_t info = 0;
    replay->history = calloc(track->infos.count + 1, sizeof *replay->history);
    if (!replay->history)
        return false;
    for (char kind; (kind = event_next(replay, &info)) != '\0';) {
        replay->events++;
        if (kind == '+')
            infos[info].now++;
        else if (kind == '-' && infos[info].now > 0)
            infos[info].now--;
        else if (kind == 'c')
            time_passes(replay);
        for (size_t i = 0; i < track->infos.count && replay->events == track->peak_event; i++)
            infos[i].at_peak = infos[i].now;
        for (size_t i = 0; i < track->infos.count && replay->events == replay->at; i++)
            infos[i].shown = infos[i].now;
    }
    for (size_t i = 0; i < track->infos.count && replay->at == 0; i++)
        infos[i].shown = infos[i].allocated - infos[i].freed;
    return true;
}

/* The point of time that is nearest. */
static bool point_find(struct replay *replay, const char *at, uint64_t time_ms,
                       struct read_error *error)
{
    const struct profile *profile = replay->track->profile;
    const struct profile_point *points = profile->points.items;
    uint64_t best = UINT64_MAX;
    if (time_ms > replay->track->now_ms)
        return read_lacks(error, "no data at %s: the recording ends after %g s", at,
                          (double)replay->track->now_ms / 1000);
    for (size_t i = 0; i < profile->points.count; i++) {
        uint64_t there = (uint64_t)points[i].time_ns / NS_PER_MS;
        uint64_t distance = there > time_ms ? there - time_ms : time_ms - there;
        if (distance <= best) {
            best = distance;
            replay->wanted = i;
        }
    }
    return true;
}

/* The moment that was asked for. */
static bool replay_start(struct replay *replay, const char *at, struct read_error *error)
{
    uint64_t time_ms;
    switch (read_moment(at, &time_ms)) {
    case MOMENT_END:
        return true;
    case MOMENT_PEAK:
        replay->at = replay->track->peak_event;
        return true;
    case MOMENT_TIME:
        return point_find(replay, at, time_ms, error);
    case MOMENT_NUMBER:
    case MOMENT_UNKNOWN:
        break;
    }
    return read_lacks(error,
                      "'%s' is not a moment of this file: it has peak, end, and times since "
                      "the start such as 90s",
                      at);
}

/* ---- samples ---- */

static bool is(const struct read_input *input)
{
    struct cursor line, file = {input->bytes, input->bytes + input->size};
    uint64_t number;
    return cursor_line(&file, &line) && cursor_take(&line, "v ") &&
           cursor_number(&line, 16, &number) && cursor_number(&line, 16, &number) &&
           line.at == line.end;
}

static uint32_t stack_of(struct heaptrack *track, uint32_t trace)
{
    static uint32_t locations[FRAMES_MAX];
    const struct heaptrack_trace *traces = track->traces.items;
    uint32_t count = 0;
    for (; trace > 0 && count < FRAMES_MAX; trace = traces[trace - 1].caller)
        if (traces[trace - 1].location != UINT32_MAX)
            locations[count++] = traces[trace - 1].location;
    return profile_stack(track->profile, locations, count);
}

static void make_samples(struct heaptrack *track, float (*history)[PROFILE_MOMENTS_MAX])
{
    struct profile *profile = track->profile;
    const struct heaptrack_info *infos = track->infos.items;
    uint32_t bytes = profile_string_of(profile, LABEL_BLOCK_BYTES);
    for (size_t i = 0; i < track->infos.count && !profile->failed; i++) {
        const struct heaptrack_info *info = &infos[i];
        struct profile_label label = {.key = bytes, .unit = bytes, .number = (int64_t)info->size};
        const uint64_t objects[] = {info->allocated, info->shown, info->at_peak};
        uint64_t space;
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
        if (profile->samples.history)
            memcpy(profile->samples.history[sample], history[i], sizeof history[i]);
    }
}

static bool finish(struct heaptrack *track, const struct read_input *input,
                   struct read_error *error)
{
    struct profile *profile = track->profile;
    if (track->infos.count == 0)
        return read_refuse(error, input->size, "it contains no allocation");
    if (input->bytes[input->size - 1] != '\n') {
        profile->torn = true;
        profile_warn(profile, "the last line is cut off");
    }
    struct replay replay = {
        .track = track, .file = {input->bytes, input->bytes + input->size}, .wanted = SIZE_MAX};
    if (!replay_start(&replay, input->options.at, error))
        return false;
    profile->failed = profile->failed || !replay_all(&replay);
    if (!profile->failed && profile->history_moments > 1)
        profile_want_history(profile);
    profile->kind = PROFILE_HEAP;
    profile->peak_time_ns = (int64_t)track->peak_ms * NS_PER_MS;
    profile->exact_allocs = (int64_t)track->objects;
    profile->exact_frees = (int64_t)track->frees;
    profile->exact_alloc_bytes = (int64_t)track->allocated;
    profile->ended = !profile->torn;
    if (!profile->failed)
        make_samples(track, replay.history);
    free(replay.history);
    return true;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    static const struct {
        const char *name;
        enum value_unit unit;
    } types[] = {
        {TYPE_ALLOC_OBJECTS, UNIT_COUNT}, {TYPE_ALLOC_SPACE, UNIT_BYTES},
        {TYPE_INUSE_OBJECTS, UNIT_COUNT}, {TYPE_INUSE_SPACE, UNIT_BYTES},
        {TYPE_PEAK_OBJECTS, UNIT_COUNT},  {TYPE_PEAK_SPACE, UNIT_BYTES},
        {TYPE_TEMP_OBJECTS, UNIT_COUNT},
    };
    struct heaptrack track = {.profile = profile, .page_size = 4096, .last = HEAPTRACK_NONE};
    struct cursor line, file = {input->bytes, input->bytes + input->size};
    uint64_t program;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        profile_type(profile, types[i].name, types[i].unit);
    profile->default_type = 3;
    cursor_line(&file, &line);
    cursor_take(&line, "v ");
    cursor_number(&line, 16, &program);
    cursor_number(&line, 16, &track.version);
    bool done;
    if (track.version > 3) {
        done = read_refuse(error, 0,
                           "heaptrack's format %" PRIu64 " is newer than the newest known one (3)",
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
    heaptrack_raw_end(&track);
    return done;
}
