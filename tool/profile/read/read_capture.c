/* SPDX-License-Identifier: MIT */
/*
 * memoir's own captures. A capture may have thousands of snapshots, each with all sites: it is read
 * twice, and only the rows of one snapshot, and the bytes in use of at most PROFILE_MOMENTS_MAX
 * others, are ever kept.
 */
#include "tool/profile/read/read_capture.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/proto.h"
#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"

static const uint64_t NO_BYTES = UINT64_MAX;

struct survey {
    struct profile *profile;
    struct list snapshots; /* struct snapshot */
    size_t whole;          /* how many of them are complete */
    struct list gone;      /* struct capture_map: files that were unloaded, by the latest list */
    struct capture_process process;
    struct capture_text reason; /* of the latest */
    uint64_t start_ms, end_ms;
    bool ended;
};

static bool is(const struct read_input *input);
static bool read(const struct read_input *input, struct profile *profile, struct read_error *error);

const struct reader reader_capture = {
    .name = "memoir capture", .is = is, .read = read, .traits = TRAIT_CAPTURE | TRAIT_MOMENTS};

uint64_t capture_next(struct capture_part *part)
{
    const uint64_t max = UINT64_C(1) << 55;
    uint64_t value = 0;
    unsigned length = varint_read(part->at, (size_t)(part->end - part->at), &value);
    part->at = length > 0 ? part->at + length : part->end;
    return length > 0 && value <= max ? value : 0;
}

int64_t capture_value(uint64_t number)
{
    enum { BITS_MAX = 59 };
    const uint64_t max = UINT64_C(1) << BITS_MAX;
    return (int64_t)(number < max ? number : max);
}

uint32_t capture_thread_name(struct profile *profile, const struct capture_text *own, uint32_t id)
{
    char name[16];
    if (own->length > 0)
        return profile_string(profile, own->bytes, own->length);
    snprintf(name, sizeof name, "t%u", id);
    return profile_string_of(profile, name);
}

bool capture_is_gone(const struct capture_map *map)
{
    return map->flags & MAP_GONE && memchr(map->path.bytes, '/', map->path.length);
}

int64_t capture_ns_between(uint64_t from_ms, uint64_t to_ms)
{
    const uint64_t max = INT64_MAX / 1000000;
    uint64_t ms = to_ms > from_ms ? to_ms - from_ms : 0;
    return (int64_t)(ms < max ? ms : max) * 1000000;
}

void capture_memory(struct profile_memory *memory, const struct capture_allocator *allocator)
{
    *memory = (struct profile_memory){.anonymous = allocator->process_anonymous_bytes,
                                      .files = allocator->process_file_bytes,
                                      .shared = allocator->process_shared_bytes,
                                      .heap = allocator->resident_bytes,
                                      .tables = allocator->metadata_bytes,
                                      .live = allocator->live_bytes,
                                      .dirty = allocator->dirty_bytes,
                                      .cached = allocator->cached_bytes,
                                      .holes = allocator->fragmented_bytes,
                                      .recorded = memory->recorded,
                                      .asked = memory->asked};
}

static struct snapshot *snapshot_at(const struct survey *survey, size_t index)
{
    return (struct snapshot *)survey->snapshots.items + index;
}

static struct snapshot *snapshot_now(const struct survey *survey)
{
    return survey->snapshots.count == 0 ? NULL : snapshot_at(survey, survey->snapshots.count - 1);
}

static void see_time(struct survey *survey, uint64_t time_ms)
{
    if (time_ms > survey->end_ms)
        survey->end_ms = time_ms;
}

static void see_process(void *context, const struct capture_process *process)
{
    struct survey *survey = context;
    survey->process = *process;
    survey->start_ms = survey->end_ms = process->time_ms;
}

static void see_maps(void *context)
{
    ((struct survey *)context)->gone.count = 0;
}

static void see_map(void *context, const struct capture_map *map)
{
    struct survey *survey = context;
    struct capture_map *kept = capture_is_gone(map) && map->inode > 0
                                   ? profile_list_add(survey->profile, &survey->gone, sizeof *kept)
                                   : NULL;
    if (kept)
        *kept = *map;
}

static void add_point(struct survey *survey, const struct capture_point *point)
{
    struct profile_point *kept =
        profile_list_add(survey->profile, &survey->profile->points, sizeof *kept);
    if (kept)
        *kept = (struct profile_point){(int64_t)point->time_ms, point->live_bytes,
                                       point->allocated_bytes, point->allocated_objects,
                                       point->resident_bytes};
}

/* Times become those since the start when the start is known. */
static void see_point(void *context, const struct capture_point *point)
{
    struct survey *survey = context;
    add_point(survey, point);
    if (point->time_ms < survey->start_ms) /* a forked child has its file later than its heap */
        survey->start_ms = point->time_ms;
    see_time(survey, point->time_ms);
}

/* `live_bytes` NO_BYTES: the heap over time tells (`describe`). */
static struct profile_moment *see_moment(struct survey *survey, uint64_t time_ms,
                                         struct capture_text name, uint64_t live_bytes)
{
    struct profile *profile = survey->profile;
    struct profile_moment *moment = profile_list_add(profile, &profile->moments, sizeof *moment);
    if (moment) {
        moment->time_ns = (int64_t)time_ms;
        moment->live_bytes = live_bytes;
        moment->name = profile_string(profile, name.bytes, name.length);
    }
    see_time(survey, time_ms);
    return moment;
}

static void see_snapshot(void *context, const struct capture_snapshot *snapshot)
{
    struct survey *survey = context;
    struct snapshot *kept = profile_list_add(survey->profile, &survey->snapshots, sizeof *kept);
    if (!kept)
        return;
    kept->number = snapshot->number;
    kept->time_ms = snapshot->time_ms;
    survey->reason = snapshot->reason;
}

static void see_totals(void *context, const struct capture_totals *totals)
{
    struct survey *survey = context;
    struct snapshot *snapshot = snapshot_now(survey);
    if (snapshot && !snapshot->counted)
        snapshot->live_bytes = totals->live.usable;
}

static void see_class(void *context, const struct capture_class *class)
{
    struct survey *survey = context;
    struct snapshot *snapshot = snapshot_now(survey);
    if (!snapshot)
        return;
    snapshot->live_bytes = class->live.bytes + (snapshot->counted ? snapshot->live_bytes : 0);
    snapshot->allocated_bytes += class->allocated.bytes;
    snapshot->allocated_objects += class->allocated.blocks;
    snapshot->counted = true;
}

static void see_whole(void *context, uint64_t rows)
{
    struct survey *survey = context;
    struct snapshot *snapshot = snapshot_now(survey);
    (void)rows;
    if (snapshot && !snapshot->whole) {
        snapshot->whole = true;
        survey->whole++;
        snapshot->moment = survey->profile->moments.count;
        struct profile_moment *moment =
            see_moment(survey, snapshot->time_ms, survey->reason, snapshot->live_bytes);
        if (moment)
            moment->clock = survey->reason.length == strlen("time") &&
                            memcmp(survey->reason.bytes, "time", strlen("time")) == 0;
        if (snapshot->counted)
            add_point(survey, &(struct capture_point){snapshot->time_ms, snapshot->live_bytes,
                                                      snapshot->allocated_bytes,
                                                      snapshot->allocated_objects, 0});
    }
}

static void see_mark(void *context, const struct capture_mark *mark)
{
    see_moment(context, mark->time_ms, mark->name, mark->counted ? mark->live.bytes : NO_BYTES);
    if (mark->counted)
        add_point(context,
                  &(struct capture_point){mark->time_ms, mark->live.bytes, mark->allocated.bytes,
                                          mark->allocated.blocks, 0});
}

static void see_end(void *context, uint64_t time_ms)
{
    see_time(context, time_ms);
    ((struct survey *)context)->ended = true;
}

/* ---- choosing ---- */

/* The index of the wanted snapshot; false: there is none. */
static bool choose(const struct survey *survey, const char *at, size_t *target,
                   struct read_error *error)
{
    uint64_t wanted, best = UINT64_MAX, lowest = UINT64_MAX, highest = 0;
    uint64_t length = survey->end_ms - survey->start_ms;
    enum read_moment moment = read_moment(at, &wanted);
    bool last = moment == MOMENT_END || moment == MOMENT_PEAK, number = moment == MOMENT_NUMBER;
    if (moment == MOMENT_UNKNOWN)
        return read_lacks(error, "'%s' is not a moment", at);
    if (moment == MOMENT_TIME && wanted > length)
        return read_lacks(error, "no data at %s: the recording ends after %g s", at,
                          (double)length / 1000);
    for (size_t i = 0; i < survey->snapshots.count; i++) {
        const struct snapshot *snapshot = snapshot_at(survey, i);
        uint64_t distance = 0, time_ms = snapshot->time_ms - survey->start_ms;
        if (!snapshot->whole)
            continue;
        if (number)
            distance = snapshot->number == wanted ? 0 : UINT64_MAX;
        else if (!last)
            distance = time_ms > wanted ? time_ms - wanted : wanted - time_ms;
        if (distance < best || (distance == best && best < UINT64_MAX)) {
            best = distance;
            *target = i;
        }
        lowest = snapshot->number < lowest ? snapshot->number : lowest;
        highest = snapshot->number > highest ? snapshot->number : highest;
    }
    if (best < UINT64_MAX)
        return true;
    return read_lacks(error,
                      "there is no snapshot %s: those of this capture are %" PRIu64 " to %" PRIu64,
                      at, lowest, highest);
}

/* Which snapshots the history is made of: evenly over the run, the last among them. */
static void choose_history(struct survey *survey)
{
    size_t max = survey->whole < PROFILE_MOMENTS_MAX ? survey->whole : PROFILE_MOMENTS_MAX;
    size_t at = 0;
    unsigned column = 0;
    struct profile_moment *moments = survey->profile->moments.items;
    if (survey->whole < 2)
        return;
    for (size_t i = 0; i < survey->snapshots.count; i++) {
        struct snapshot *snapshot = snapshot_at(survey, i);
        if (!snapshot->whole)
            continue;
        if (at++ == column * (survey->whole - 1) / (max - 1)) {
            snapshot->column = (uint8_t)++column;
            if (snapshot->moment < survey->profile->moments.count)
                moments[snapshot->moment].rows = true;
        }
    }
    survey->profile->history_moments = column;
}

/* ---- what is known of the whole ---- */

static size_t quoted(char *to, const char *from, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    size_t used = 0, safe = 0;
    while (safe < length && memchr(plain, from[safe], sizeof plain - 1))
        safe++;
    if (safe == length && length > 0) {
        memcpy(to, from, length);
        return length;
    }
    to[used++] = '\'';
    for (size_t i = 0; i < length; i++) {
        if (from[i] == '\'') {
            to[used++] = '\'';
            to[used++] = '\\';
            to[used++] = '\'';
        }
        to[used++] = from[i];
    }
    to[used++] = '\'';
    return used;
}

/* Arguments that end in 0, as a shell would take them. */
static uint32_t command_text(struct profile *profile, struct capture_text command)
{
    char *text = malloc(command.length * 4 + 4); /* an empty argument takes '' and a space */
    size_t used = 0, at = 0;
    if (!text) {
        profile->failed = true;
        return 0;
    }
    while (at < command.length) {
        const char *from = command.bytes + at, *end = memchr(from, 0, command.length - at);
        size_t length = end ? (size_t)(end - from) : command.length - at;
        if (used > 0)
            text[used++] = ' ';
        used += quoted(text + used, from, length);
        at += length + 1;
    }
    uint32_t string = profile_string(profile, text, used);
    free(text);
    return string;
}

/* The bytes that were live at a time, from the series. */
static uint64_t live_at(const struct profile *profile, int64_t time_ns)
{
    const struct profile_point *points = profile->points.items;
    size_t low = 0, high = profile->points.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0 : points[low - 1].live_bytes;
}

/* By time; at one time by how much had been allocated; while nothing is, the heap only shrinks. */
static int point_order(const void *left, const void *right)
{
    const struct profile_point *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->allocated_objects != b->allocated_objects)
        return a->allocated_objects < b->allocated_objects ? -1 : 1;
    return (b->live_bytes > a->live_bytes) - (b->live_bytes < a->live_bytes);
}

/* Merges the points of the series, of snapshots and of marks, in the order of time. */
static void points_join(struct profile *profile)
{
    struct profile_point *points = profile->points.items;
    size_t kept = 0;
    if (profile->points.count > 0)
        qsort(points, profile->points.count, sizeof *points, point_order);
    for (size_t i = 0; i < profile->points.count; i++) {
        struct profile_point *before = kept > 0 ? &points[kept - 1] : NULL;
        if (before && before->time_ns == points[i].time_ns &&
            before->live_bytes == points[i].live_bytes &&
            before->allocated_objects == points[i].allocated_objects) {
            if (before->resident_bytes == 0)
                before->resident_bytes = points[i].resident_bytes;
            continue;
        }
        points[kept] = points[i];
        if (before && points[kept].resident_bytes == 0) /* a snapshot or mark does not look */
            points[kept].resident_bytes = before->resident_bytes;
        kept++;
    }
    profile->points.count = kept;
}

/* The series ends with the last snapshot, and not at some time before it. */
static void point_last(const struct survey *survey)
{
    struct profile *profile = survey->profile;
    const struct profile_point *points = profile->points.items;
    size_t count = profile->points.count;
    if (count == 0 || survey->snapshots.count == 0)
        return;
    const struct snapshot *last = snapshot_at(survey, survey->snapshots.count - 1);
    struct profile_point end = points[count - 1];
    int64_t time_ns = capture_ns_between(survey->start_ms, last->time_ms);
    if (!last->whole || last->counted || time_ns < end.time_ns ||
        (time_ns == end.time_ns && last->live_bytes == end.live_bytes))
        return;
    end.time_ns = time_ns;
    end.live_bytes = last->live_bytes;
    struct profile_point *kept = profile_list_add(profile, &profile->points, sizeof *kept);
    if (kept)
        *kept = end;
}

static void describe(const struct survey *survey, const struct snapshot *target)
{
    struct profile *profile = survey->profile;
    const struct capture_process *process = &survey->process;
    struct profile_point *points = profile->points.items;
    struct profile_moment *moments = profile->moments.items;
    profile->kind = PROFILE_HEAP;
    profile->program = profile_string(profile, process->program.bytes, process->program.length);
    profile->host = profile_string(profile, process->host.bytes, process->host.length);
    profile->command = command_text(profile, process->command);
    profile->pid = process->pid <= INT32_MAX ? (int64_t)process->pid : 0;
    profile->duration_ns = capture_ns_between(survey->start_ms, target->time_ms);
    int64_t before_ns = capture_ns_between(survey->start_ms, process->time_ms);
    if (process->wall_ns <= INT64_MAX && (int64_t)process->wall_ns > before_ns)
        profile->time_ns = (int64_t)process->wall_ns - before_ns;
    for (size_t i = 0; i < profile->points.count; i++) {
        points[i].time_ns = capture_ns_between(survey->start_ms, (uint64_t)points[i].time_ns);
        if (points[i].resident_bytes > 0 && points[i].time_ns <= profile->duration_ns)
            profile->resident_bytes = points[i].resident_bytes;
    }
    for (size_t i = 0; i < profile->moments.count; i++) {
        moments[i].time_ns = capture_ns_between(survey->start_ms, (uint64_t)moments[i].time_ns);
        if (moments[i].live_bytes == NO_BYTES)
            moments[i].live_bytes = live_at(profile, moments[i].time_ns);
    }
    points_join(profile);
    point_last(survey);
}

/* The peak may lie between two points of the series, and is added as one more point. While other
 * threads allocate, the sum of their counters may be some bytes above the peak: such a point is
 * lowered to it. */
static void point_peak(struct profile *profile)
{
    int type = profile_type_named(profile, TYPE_PEAK_SPACE);
    /* 1 ns stands for the start, where the end may be, too: the peak is before it. */
    struct profile_point peak = {.time_ns = profile->peak_time_ns == 1 ? 0 : profile->peak_time_ns};
    size_t at = 0, count = profile->points.count;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        peak.live_bytes += (uint64_t)profile->samples.values[type][i];
    struct profile_point *points = profile->points.items;
    bool there = false;
    for (size_t i = 0; i < count; i++) {
        if (profile->counted && points[i].time_ns <= profile->duration_ns &&
            points[i].live_bytes > peak.live_bytes)
            points[i].live_bytes = peak.live_bytes;
        there = there || points[i].live_bytes >= peak.live_bytes;
        at = points[i].time_ns < peak.time_ns ? i + 1 : at;
    }
    if (there || profile->peak_time_ns == 0 || peak.live_bytes == 0 || count == 0 ||
        !profile_list_add(profile, &profile->points, sizeof peak))
        return;
    struct profile_point *moved = profile->points.items;
    const struct profile_point *beside = &moved[at < count ? at : count - 1];
    peak.allocated_bytes = beside->allocated_bytes;
    peak.allocated_objects = beside->allocated_objects;
    peak.resident_bytes = beside->resident_bytes;
    memmove(moved + at + 1, moved + at, (count - at) * sizeof *moved);
    moved[at] = peak;
}

/* The last snapshot was made from a recorder file. */
static bool is_killed(const struct survey *survey, size_t target, const char *reason)
{
    return survey->ended && target + 1 == survey->snapshots.count &&
           survey->reason.length == strlen(reason) &&
           memcmp(survey->reason.bytes, reason, survey->reason.length) == 0;
}

/* A dump of a program that goes on has an end, too; the reason tells. */
static bool is_end(const struct survey *survey, size_t target)
{
    static const char leaving[] = "Exiting";
    return survey->ended && target + 1 == survey->snapshots.count &&
           survey->reason.length >= sizeof leaving - 1 &&
           memcmp(survey->reason.bytes, leaving, sizeof leaving - 1) == 0;
}

static bool take(const struct read_input *input, struct survey *survey, size_t whole_size,
                 struct read_error *error)
{
    struct capture_plan plan = {
        .start_ms = survey->start_ms, .whole_size = whole_size, .gone = &survey->gone};
    const char *at = input->options.at;
    if (!choose(survey, at, &plan.target, error))
        return false;
    plan.at_peak = read_moment(at, &(uint64_t){0}) == MOMENT_PEAK;
    plan.snapshots = survey->snapshots.items;
    choose_history(survey);
    place_part(40, 100);
    describe(survey, &plan.snapshots[plan.target]);
    survey->profile->ended = is_end(survey, plan.target) && !plan.at_peak;
    survey->profile->at_peak = plan.at_peak;
    bool done = capture_take_rows(input, &plan, survey->profile, error);
    if (done && survey->profile->off_time_ns > 0)
        profile_warn(survey->profile,
                     "sampling was turned off %.1f s after the start: later allocations "
                     "belong to no site",
                     (double)survey->profile->off_time_ns / 1e9);
    if (done && is_killed(survey, plan.target, RECORDER_KILLED_EARLY))
        profile_warn(
            survey->profile,
            "the process was killed while its recording began: some of its earlier allocations, or "
            "of its parent's, are missing");
    if (done && is_killed(survey, plan.target, RECORDER_KILLED))
        profile_warn(survey->profile,
                     "the program did not exit normally: this is its state when it was last seen, "
                     "%.1f s after its start",
                     (double)survey->profile->duration_ns / 1e9);
    if (done && !input->options.raw)
        point_peak(survey->profile);
    return done;
}

static bool is(const struct read_input *input)
{
    return input->size >= sizeof FORMAT_MAGIC &&
           memcmp(input->bytes, FORMAT_MAGIC, sizeof FORMAT_MAGIC) == 0;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    static const struct capture_calls calls = {
        .process = see_process,
        .maps = see_maps,
        .map = see_map,
        .point = see_point,
        .snapshot = see_snapshot,
        .totals = see_totals,
        .class = see_class,
        .whole = see_whole,
        .mark = see_mark,
        .end = see_end,
    };
    struct survey survey = {.profile = profile};
    struct capture_error wrong;
    place_part(0, 40);
    enum capture_result result = capture_read(input->bytes, input->size, &calls, &survey, &wrong);
    bool done = false;
    if (result == CAPTURE_REFUSED)
        read_refuse(error, wrong.offset, "%s", wrong.reason);
    else if (survey.whole == 0)
        read_refuse(error, wrong.offset,
                    "there is no whole snapshot in this capture (%s): the program has not written "
                    "one yet, or was killed before",
                    wrong.reason ? wrong.reason : "nothing is missing at its end");
    else
        done = take(input, &survey, (size_t)wrong.offset, error);
    if (done && result == CAPTURE_TORN && wrong.offset == input->size) {
        profile->torn = true;
        profile_warn(profile,
                     "the program was killed or is still running: this is the state %.1f s "
                     "after the start",
                     (double)profile->duration_ns / 1e9);
    } else if (done && result == CAPTURE_TORN) {
        profile->torn = true;
        profile_warn(profile,
                     "the capture stops at byte %" PRIu64 " of %zu (%s): the program still runs or "
                     "was killed; the answer is from the records before that",
                     wrong.offset, input->size, wrong.reason);
    }
    free(survey.snapshots.items);
    free(survey.gone.items);
    return done;
}
