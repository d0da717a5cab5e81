/* SPDX-License-Identifier: MIT */
/*
 * massif's output: snapshots of the heap's size, some of them with a tree of call sites, from the
 * allocating function down to main. Bytes of a node that its children do not have are those of
 * the stack that ends there; "N places, all below massif's threshold" are a frame of their own.
 *
 * In use is what the last tree says, or that of the snapshot asked for; the peak is the tree that
 * massif calls so. Time is in instructions unless massif was told otherwise, or in bytes that were
 * allocated: then one of them is shown as a nanosecond.
 */
#include "tool/profile/read/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"

enum { DEPTH_MAX = 1024, INUSE = 0, PEAK = 1 };

static const int64_t BYTES_MAX = INT64_C(1) << 59; /* so that sums of many cannot overflow */

struct snapshot {
    uint64_t number, time, bytes, extra, stacks;
    const char *tree; /* its first line; NULL: it has none */
    bool peak;
    unsigned column; /* in the history, from 1 */
};

struct massif {
    struct profile *profile;
    struct frames known;
    struct list snapshots; /* struct snapshot */
    struct keys stacks;    /* numbers are those of samples */
    uint64_t scale;        /* nanoseconds of a unit of time */
    size_t trees;
    const char *end;
};

/* A tree while it is read: what is above the present line. */
struct tree {
    struct frame frames[DEPTH_MAX];
    int64_t left[DEPTH_MAX]; /* bytes that no child had so far */
    size_t depth;
};

static bool is(const struct read_input *input)
{
    struct cursor file = {input->bytes, input->bytes + input->size}, line;
    return cursor_line(&file, &line) && cursor_take(&line, "desc:") && cursor_line(&file, &line) &&
           cursor_take(&line, "cmd:") && cursor_line(&file, &line) &&
           cursor_take(&line, "time_unit:");
}

/* ---- the list of snapshots ---- */

static void take_head(struct massif *massif, struct cursor line)
{
    struct profile *profile = massif->profile;
    if (cursor_take(&line, "cmd:")) {
        cursor_trim(&line);
        profile->command = profile_string(profile, line.at, cursor_left(&line));
        struct cursor program = cursor_until(&line, ' ');
        profile->program = profile_string(profile, program.at, cursor_left(&program));
    } else if (cursor_take(&line, "time_unit:")) {
        cursor_trim(&line);
        massif->scale = cursor_is(&line, "ms") ? 1000000 : 1;
        if (massif->scale == 1)
            profile_warn(profile, "massif counted time in %s: each is shown as one nanosecond",
                         cursor_is(&line, "B") ? "allocated bytes" : "instructions");
    }
}

static void take_snapshot_line(struct massif *massif, struct cursor line, const char *behind)
{
    static const char *const names[] = {
        "time=", "mem_heap_B=", "mem_heap_extra_B=", "mem_stacks_B="};
    struct snapshot *snapshot;
    uint64_t number;
    if (cursor_take(&line, "snapshot=") && cursor_number(&line, 10, &number)) {
        snapshot = profile_list_add(massif->profile, &massif->snapshots, sizeof *snapshot);
        if (snapshot)
            snapshot->number = number;
        return;
    }
    if (massif->snapshots.count == 0) {
        take_head(massif, line);
        return;
    }
    snapshot = (struct snapshot *)massif->snapshots.items + massif->snapshots.count - 1;
    uint64_t *const fields[] = {&snapshot->time, &snapshot->bytes, &snapshot->extra,
                                &snapshot->stacks};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (cursor_take(&line, names[i]))
            cursor_number(&line, 10, fields[i]);
    if (cursor_take(&line, "heap_tree=") && !cursor_is(&line, "empty")) {
        snapshot->peak = cursor_is(&line, "peak");
        snapshot->tree = behind;
        massif->trees++;
    }
}

/* ---- trees ---- */

static void add(int64_t *value, int64_t bytes)
{
    *value = bytes < BYTES_MAX - *value ? *value + bytes : BYTES_MAX;
}

static void add_bytes(struct massif *massif, const struct frame *frames, size_t count,
                      const struct snapshot *snapshot, bool inuse, int64_t bytes)
{
    struct profile *profile = massif->profile;
    uint32_t stack = frames_stack(&massif->known, profile, frames, count);
    bool fresh;
    if (bytes <= 0 || profile->failed)
        return;
    size_t sample = keys_add(&massif->stacks, (struct key){{stack, 0, 0}}, &fresh);
    if (fresh)
        sample = profile_sample(profile, stack, 0);
    if (profile->failed || sample >= profile->samples.count)
        return;
    if (inuse)
        add(&profile->samples.values[INUSE][sample], bytes);
    if (snapshot->peak && profile->types > PEAK)
        add(&profile->samples.values[PEAK][sample], bytes);
    if (snapshot->column > 0 && profile_want_history(profile))
        profile->samples.history[sample][snapshot->column - 1] += (float)bytes;
}

/* "n3: 113089 TEXT", as deep as it has blanks. */
static bool parse_node(struct cursor line, size_t *depth, int64_t *bytes, struct cursor *text)
{
    uint64_t children, number;
    const char *first = line.at;
    while (line.at < line.end && *line.at == ' ')
        line.at++;
    *depth = (size_t)(line.at - first);
    if (!cursor_take(&line, "n") || !cursor_number(&line, 10, &children) ||
        !cursor_take(&line, ":") || !cursor_number(&line, 10, &number) ||
        number > (uint64_t)BYTES_MAX)
        return false;
    *bytes = (int64_t)number;
    cursor_trim(&line);
    *text = line;
    return true;
}

/* Nodes from `depth` on are complete: what is left is theirs. Frame 0 is the root. */
static void close_nodes(struct massif *massif, struct tree *tree, size_t depth,
                        const struct snapshot *snapshot, bool inuse)
{
    while (tree->depth > depth) {
        tree->depth--;
        add_bytes(massif, tree->frames + 1, tree->depth, snapshot, inuse, tree->left[tree->depth]);
    }
}

static void take_tree(struct massif *massif, const struct snapshot *snapshot, bool inuse)
{
    static struct tree tree;
    struct profile *profile = massif->profile;
    struct cursor file = {snapshot->tree, massif->end}, line, text;
    size_t depth;
    int64_t bytes;
    tree.depth = 0;
    while (!profile->failed && cursor_line(&file, &line) &&
           parse_node(line, &depth, &bytes, &text)) {
        if (depth > tree.depth || depth >= DEPTH_MAX) {
            profile_warn(profile, "the tree of snapshot %" PRIu64 " is damaged", snapshot->number);
            break;
        }
        close_nodes(massif, &tree, depth, snapshot, inuse);
        if (depth > 0) /* its parent's share; less than 0 where the file lies */
            tree.left[depth - 1] = tree.left[depth - 1] > bytes ? tree.left[depth - 1] - bytes : 0;
        bool below = text.at < text.end && memmem(text.at, cursor_left(&text), " below ", 7) &&
                     cursor_take(&text, "in ");
        tree.frames[depth] = below ? frames_remark(profile, "[below massif's threshold]")
                                   : frames_valgrind(&massif->known, profile, text);
        tree.left[depth] = bytes;
        tree.depth = depth + 1;
    }
    close_nodes(massif, &tree, 0, snapshot, inuse);
}

/* ---- the whole ---- */

static struct snapshot *snapshot_at(const struct massif *massif, size_t index)
{
    return (struct snapshot *)massif->snapshots.items + index;
}

static int64_t time_ns(const struct massif *massif, uint64_t time)
{
    uint64_t ns;
    return __builtin_mul_overflow(time, massif->scale, &ns) || ns > INT64_MAX ? INT64_MAX
                                                                              : (int64_t)ns;
}

static void make_points(struct massif *massif)
{
    struct profile *profile = massif->profile;
    size_t max = massif->trees < PROFILE_MOMENTS_MAX ? massif->trees : PROFILE_MOMENTS_MAX;
    size_t tree = 0;
    for (size_t i = 0; i < massif->snapshots.count; i++) {
        struct snapshot *snapshot = snapshot_at(massif, i);
        struct profile_point *point = profile_list_add(profile, &profile->points, sizeof *point);
        if (!point)
            return;
        point->time_ns = time_ns(massif, snapshot->time);
        point->live_bytes = snapshot->bytes;
        profile->duration_ns = point->time_ns;
        if (snapshot->peak)
            profile->peak_time_ns = point->time_ns;
        if (!snapshot->tree)
            continue;
        bool rows =
            massif->trees > 1 && tree * (max - 1) >= profile->history_moments * (massif->trees - 1);
        tree++;
        if (rows)
            snapshot->column = ++profile->history_moments;
        struct profile_moment *moment =
            profile_list_add(profile, &profile->moments, sizeof *moment);
        if (!moment)
            return;
        *moment = (struct profile_moment){
            .time_ns = point->time_ns,
            .live_bytes = snapshot->bytes,
            .name = profile_string_of(profile, snapshot->peak ? "peak" : "detailed"),
            .rows = rows};
    }
}

/* The index of the snapshot that is in use: the last with a tree, unless another is asked for. */
static bool choose(const struct massif *massif, const char *at, size_t *chosen,
                   struct read_error *error)
{
    uint64_t number;
    enum read_moment moment = read_moment(at, &number);
    bool any = moment == MOMENT_END, peak = moment == MOMENT_PEAK, found = false;
    if (moment == MOMENT_TIME || moment == MOMENT_UNKNOWN)
        return read_lacks(error, "massif numbers its snapshots, and '%s' is not one of them", at);
    for (size_t i = 0; i < massif->snapshots.count; i++) {
        const struct snapshot *snapshot = snapshot_at(massif, i);
        if (snapshot->tree && (any || (peak ? snapshot->peak : snapshot->number == number))) {
            *chosen = i;
            found = true;
        }
    }
    return found ||
           read_lacks(error, "this massif file has no snapshot %s with stacks", at ? at : "");
}

static bool finish(struct massif *massif, const struct read_input *input, struct read_error *error)
{
    struct profile *profile = massif->profile;
    size_t chosen = 0, last = massif->snapshots.count - 1;
    bool peak = false;
    if (massif->snapshots.count == 0)
        return read_refuse(error, input->size, "this massif file has no snapshot");
    if (!choose(massif, input->options.at, &chosen, error))
        return false;
    profile->at_peak = snapshot_at(massif, chosen)->peak && input->options.at;
    for (size_t i = 0; i <= last; i++)
        peak |= snapshot_at(massif, i)->peak;
    profile->kind = PROFILE_HEAP;
    profile_type(profile, TYPE_INUSE_SPACE, UNIT_BYTES);
    if (peak)
        profile->default_type = profile_type(profile, TYPE_PEAK_SPACE, UNIT_BYTES);
    make_points(massif);
    for (size_t i = 0; i <= last && !profile->failed; i++) {
        const struct snapshot *snapshot = snapshot_at(massif, i);
        if (snapshot->tree && (snapshot->column > 0 || snapshot->peak || i == chosen))
            take_tree(massif, snapshot, i == chosen);
    }
    if (chosen != last && read_moment(input->options.at, &(uint64_t){0}) == MOMENT_END)
        profile_warn(profile,
                     "inuse_space is that of snapshot %" PRIu64 ", the last with stacks; the last "
                     "of all is %" PRIu64,
                     snapshot_at(massif, chosen)->number, snapshot_at(massif, last)->number);
    return true;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct massif massif = {.profile = profile, .scale = 1, .end = input->bytes + input->size};
    struct cursor file = {input->bytes, massif.end}, line;
    while (!profile->failed && cursor_line(&file, &line))
        take_snapshot_line(&massif, line, file.at);
    bool done = finish(&massif, input, error);
    free(massif.snapshots.items);
    keys_free(&massif.stacks);
    frames_free(&massif.known);
    return done;
}

const struct reader reader_massif = {
    .name = "massif", .is = is, .read = read, .traits = TRAIT_MOMENTS};
