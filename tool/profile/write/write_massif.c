/* SPDX-License-Identifier: MIT */
/*
 * massif's output, for ms_print and massif-visualizer: the heap over time, and trees, leaf first,
 * of the moments whose stacks are known: the end, the peak, and others of a recording. Of a profile
 * without time, and of values other than the live bytes, one tree.
 *
 * Readers want a tree to be no larger than its snapshot, so the size of one with a tree is the sum
 * of its stacks. They take '#' for the start of a comment, wherever it is.
 */
#include "tool/profile/write/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"

/* PLAIN_MAX: valgrind writes 100 by default. DEPTH_MAX: ms_print draws one column a level. */
enum { PLAIN_MAX = 200, DEPTH_MAX = 512, NS_PER_MS = 1000000 };

struct snapshot {
    int64_t time_ns, bytes;
    enum { PLAIN, TREE, PEAK } kind;
    int column; /* of flat: a type; or -1 - a place in the history */
};

struct massif {
    const struct profile *profile;
    FILE *file;
    char **places; /* by frame of the present tree: its text, when it is known */
    struct snapshot *snapshots;
    size_t count;
};

static int compare_times(const void *one, const void *other)
{
    const struct snapshot *a = one, *b = other;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->kind != PLAIN) - (b->kind != PLAIN);
}

/* Of many points, the highest of each of PLAIN_MAX equal parts. */
static void points_add(struct massif *massif)
{
    const struct profile_point *points = massif->profile->points.items;
    size_t count = massif->profile->points.count;
    size_t parts = count < PLAIN_MAX ? count : PLAIN_MAX;
    for (size_t part = 0; part < parts; part++) {
        size_t best = part * count / parts;
        for (size_t i = best; i < (part + 1) * count / parts; i++)
            if (points[i].live_bytes > points[best].live_bytes)
                best = i;
        massif->snapshots[massif->count++] =
            (struct snapshot){points[best].time_ns, (int64_t)points[best].live_bytes, PLAIN, 0};
    }
}

static bool snapshots_make(struct massif *massif, unsigned type)
{
    const struct profile *profile = massif->profile;
    const struct profile_moment *moments = profile->moments.items;
    int peak = profile_type_named(profile, TYPE_PEAK_SPACE);
    massif->snapshots = calloc(PLAIN_MAX + PROFILE_MOMENTS_MAX + 2, sizeof *massif->snapshots);
    if (!massif->snapshots)
        return false;
    struct snapshot end = {profile->duration_ns, 0, TREE, (int)type};
    if ((int)type == profile_type_named(profile, TYPE_INUSE_SPACE)) {
        unsigned place = 0;
        points_add(massif);
        for (size_t i = 0; i < profile->moments.count && profile->samples.history; i++)
            if (moments[i].rows && place < profile->history_moments)
                massif->snapshots[massif->count++] =
                    (struct snapshot){moments[i].time_ns, 0, TREE, -1 - (int)place++};
        if (peak >= 0 && profile->peak_time_ns > 0)
            massif->snapshots[massif->count++] =
                (struct snapshot){profile->peak_time_ns, 0, PEAK, peak};
    }
    for (size_t i = 0; i < massif->count; i++)
        if (massif->snapshots[i].time_ns > end.time_ns)
            end.time_ns = massif->snapshots[i].time_ns;
    /* The last snapshot is the end itself, which has its exact column. */
    for (size_t i = 0; i < massif->count; i++)
        if (massif->snapshots[i].column < 0 && massif->snapshots[i].time_ns == end.time_ns)
            massif->snapshots[i--] = massif->snapshots[--massif->count];
    massif->snapshots[massif->count++] = end;
    qsort(massif->snapshots, massif->count, sizeof *massif->snapshots, compare_times);
    return true;
}

/* Stacks from `first` to `end`, which are the same up to some depth. */
struct node {
    size_t first, end;
    int64_t value;
};

static int compare_nodes(const void *one, const void *other)
{
    const struct node *a = one, *b = other;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* By the frame at `depth`. Stacks that end before have none. NULL when memory is out. */
static struct node *nodes_below(const struct flat *flat, unsigned type, const struct node *node,
                                uint32_t depth, size_t *count)
{
    struct node *nodes = calloc(node->end - node->first + 1, sizeof *nodes);
    uint32_t frame = 0; /* of the last one */
    *count = 0;
    if (!nodes)
        return NULL;
    for (size_t i = node->first; i < node->end && depth < DEPTH_MAX; i++) {
        struct flat_stack stack = flat_stack(flat, i);
        if (stack.count <= depth)
            continue;
        struct node *last = *count > 0 ? &nodes[*count - 1] : NULL;
        if (!last || frame != stack.frames[depth]) {
            last = &nodes[(*count)++];
            last->first = i;
            frame = stack.frames[depth];
        }
        last->end = i + 1;
        last->value += flat_value(flat, i, type);
    }
    qsort(nodes, *count, sizeof *nodes, compare_nodes);
    while (*count > 0 && nodes[*count - 1].value <= 0)
        (*count)--;
    return nodes;
}

/* What readers would take for a comment or an end of the line is gone. */
static void mend(char *text)
{
    line_clean(text);
    for (; *text != '\0'; text++)
        *text = *text == '#' ? '@' : *text;
}

static const char *place_of(struct massif *massif, const struct flat *flat, uint32_t frame)
{
    if (!massif->places[frame]) {
        massif->places[frame] = flat_place(&flat->frames[frame]);
        if (massif->places[frame])
            mend(massif->places[frame]);
    }
    return massif->places[frame];
}

static bool node_put(struct massif *massif, const struct flat *flat, unsigned type,
                     const struct node *node, uint32_t depth)
{
    size_t count;
    struct node *nodes = nodes_below(flat, type, node, depth, &count);
    if (!nodes)
        return false;
    fprintf(massif->file, "%*sn%zu: %" PRId64 " ", (int)depth, "", count, node->value);
    const char *text = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
    if (depth > 0)
        text = place_of(massif, flat, flat_stack(flat, node->first).frames[depth - 1]);
    bool done = text != NULL;
    fputs_unlocked(done ? text : "", massif->file);
    putc_unlocked('\n', massif->file);
    for (size_t i = 0; i < count && done; i++)
        done = node_put(massif, flat, type, &nodes[i], depth + 1);
    free(nodes);
    return done;
}

/* The inuse_space of each sample at a moment. */
static int64_t *history_of(const struct profile *profile, unsigned place)
{
    int64_t *values = calloc(profile->samples.count + 1, sizeof *values);
    for (size_t i = 0; i < profile->samples.count && values; i++)
        values[i] = (int64_t)profile->samples.history[i][place];
    return values;
}

static bool tree_put(struct massif *massif, const struct snapshot *snapshot, size_t number)
{
    struct flat flat = {0};
    struct flat_options options = {.lines = true, .leaf_first = true};
    int64_t *values = NULL;
    unsigned type = (unsigned)snapshot->column;
    if (snapshot->column < 0) {
        values = history_of(massif->profile, (unsigned)(-1 - snapshot->column));
        options.more = values;
        type = massif->profile->types;
    }
    bool done = (values || snapshot->column >= 0) && flat_make(&flat, massif->profile, &options);
    massif->places = calloc(flat.frames_count + 1, sizeof *massif->places);
    done = done && massif->places;
    struct node all = {0, flat.stacks_count, 0};
    for (size_t i = 0; i < flat.stacks_count && done; i++)
        all.value += flat_value(&flat, i, type);
    if (all.value < 0)
        all.value = 0;
    if (done) {
        fprintf(massif->file,
                "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRId64 "\nmem_heap_B=%" PRId64
                "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
                number, snapshot->time_ns / NS_PER_MS, all.value,
                snapshot->kind == PEAK ? "peak" : "detailed");
        done = node_put(massif, &flat, type, &all, 0);
    }
    for (size_t i = 0; i < flat.frames_count && massif->places; i++)
        free(massif->places[i]);
    free(massif->places);
    flat_free(&flat);
    free(values);
    return done;
}

static bool massif(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct massif massif = {.profile = profile, .file = file};
    bool done = snapshots_make(&massif, options->type);
    if (done) {
        char *copy = estimate_command(profile);
        done = copy != NULL;
        if (copy)
            mend(copy);
        fprintf(file, "desc: memoir\ncmd: %s\ntime_unit: ms\n", copy ? copy : "");
        free(copy);
    }
    for (size_t i = 0; i < massif.count && done; i++) {
        const struct snapshot *snapshot = &massif.snapshots[i];
        if (snapshot->kind != PLAIN)
            done = tree_put(&massif, snapshot, i);
        else
            fprintf(file,
                    "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRId64
                    "\nmem_heap_B=%" PRId64
                    "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n",
                    i, snapshot->time_ns / NS_PER_MS, snapshot->bytes);
    }
    free(massif.snapshots);
    return done;
}

const struct writer writer_massif = {
    .word = "massif",
    .ending = ".massif",
    .brief = "for ms_print and massif-visualizer",
    .values = WRITES_ALL,
    .write = massif,
};
