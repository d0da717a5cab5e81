/* SPDX-License-Identifier: MIT */
/*
 * What Go's pprof writes for other programs: -proto, -topproto, -callgrind. A profile that filters
 * have changed is put together anew from what is left, with its own numbers. In callgrind's format
 * functions are known by name and source alone: those that share both, but begin elsewhere, are
 * numbered so that they stay apart.
 */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/go/go.h"
#include "tool/profile/write/write.h"

/* Names that are written once and numbered. */
struct name {
    const char *text;
    size_t number;
};

struct names {
    void *tree;
    size_t count;
};

/* Functions of one name and one source that begin elsewhere, are of another file or, in a tree,
 * have another caller are numbered, in the order in which they are met. */
struct spot {
    const struct go_node *node;
    uint32_t order;  /* of the node */
    uint32_t leader; /* of the first one of the same function */
};

static bool write_filtered(const struct go_profile *go);
static void copy_head(struct profile *to, const struct profile *from, bool all_frames);
static uint32_t copy_text(struct profile *to, const struct profile *from, uint32_t text);
static void copy_mappings(struct profile *to, const struct go_profile *go);
static uint32_t copy_place(struct profile *to, const struct go_profile *go, uint32_t number);
static uint32_t copy_labels(struct profile *to, const struct go_profile *go,
                            const struct go_sample *sample);
static bool write_profile(struct profile *profile);
static bool write_top(struct go_profile *go, const struct go_graph *graph);
static int64_t scaled(const struct go_profile *go, int64_t value);
static bool write_callgrind(struct go_profile *go, struct go_graph *graph);
static char **call_names(const struct go_graph *graph);
static struct spot *find_spots(const struct go_graph *graph);
static int compare_spots(const void *a, const void *b);
static int compare_functions(const struct go_node *left, const struct go_node *right);
static int compare_twins(const struct go_node *left, const struct go_node *right);
static int compare_leaders(const void *a, const void *b);
static void print_name(struct names *names, const char *key, const char *text);
static int compare_names(const void *a, const void *b);
static const char *place_text(const struct go_node *before, uint64_t address, char text[32]);

bool go_write(struct go_profile *go, struct go_graph *graph, enum compat_option how)
{
    return how == COMPAT_PROTO      ? write_filtered(go)
           : how == COMPAT_TOPPROTO ? write_top(go, graph)
                                    : write_callgrind(go, graph);
}

/* The profile as the filters leave it. */
static bool write_filtered(const struct go_profile *go)
{
    const struct profile *from = go->from;
    double by = go->words->value[COMPAT_DIVIDE_BY].number;
    struct profile to;
    profile_start(&to);
    for (unsigned i = 0; i < from->types; i++)
        profile_type_written(&to, profile_text(from, from->type[i].name),
                             profile_text(from, from->type[i].unit));
    to.default_type = from->default_type;
    copy_head(&to, from, go->words->value[COMPAT_ALL_FRAMES].on);
    copy_mappings(&to, go);
    uint32_t *places = compat_room(NULL, go->places_count, sizeof *places), *path = NULL;
    memset(places, 0, go->places_count * sizeof *places);
    for (size_t i = 0; i < go->count; i++) {
        const struct go_sample *sample = &go->samples[i];
        path = compat_room(path, sample->count, sizeof *path);
        for (uint32_t k = 0; k < sample->count; k++) {
            uint32_t number = go->path[sample->first + k];
            if (places[number] == 0)
                places[number] = copy_place(&to, go, number) + 1;
            path[k] = places[number] - 1;
        }
        uint32_t labels = copy_labels(&to, go, sample);
        size_t row = profile_sample(&to, profile_stack(&to, path, sample->count), labels);
        if (to.failed)
            compat_out_of_memory();
        for (unsigned k = 0; k < from->types; k++) {
            int64_t value = from->samples.values[k][sample->row];
            to.samples.values[k][row] = by > 0 && by != 1 ? (int64_t)((double)value / by) : value;
        }
    }
    free(places);
    free(path);
    return write_profile(&to);
}

/* All that is not of a sample. */
static void copy_head(struct profile *to, const struct profile *from, bool all_frames)
{
    const uint32_t *comments = from->comments.items;
    to->kind = from->kind;
    to->format = from->format;
    to->time_ns = from->time_ns;
    to->duration_ns = from->duration_ns;
    to->period = from->period;
    to->period_type.name = copy_text(to, from, from->period_type.name);
    to->period_type.unit = copy_text(to, from, from->period_type.unit);
    to->drop_frames = all_frames ? 0 : copy_text(to, from, from->drop_frames);
    to->keep_frames = all_frames ? 0 : copy_text(to, from, from->keep_frames);
    to->doc_url = copy_text(to, from, from->doc_url);
    for (size_t i = 0; i < from->comments.count; i++) {
        uint32_t text = copy_text(to, from, comments[i]);
        uint32_t *last = profile_list_add(to, &to->comments, sizeof *last);
        if (last)
            *last = text;
    }
}

static uint32_t copy_text(struct profile *to, const struct profile *from, uint32_t text)
{
    return text == 0 ? 0 : profile_string_of(to, profile_text(from, text));
}

static void copy_mappings(struct profile *to, const struct go_profile *go)
{
    for (uint32_t i = 1; i < go->from->mappings.count; i++) {
        struct profile_mapping mapping = *profile_mapping_at(go->from, i);
        const char *path =
            i == 1 && go->program[0] ? go->program : profile_text(go->from, mapping.path);
        mapping.path = profile_string_of(to, path);
        mapping.build_id = copy_text(to, go->from, mapping.build_id);
        profile_mapping(to, &mapping);
    }
}

static uint32_t copy_place(struct profile *to, const struct go_profile *go, uint32_t number)
{
    const struct go_place *place = &go->places[number];
    struct profile_location location = {.address = place->address,
                                        .mapping = place->mapping,
                                        .flags = LOCATION_LOOKED | LOCATION_EXACT};
    struct profile_line *lines = compat_room(NULL, place->count, sizeof *lines);
    for (uint32_t i = 0; i < place->count; i++) {
        const struct go_line *line = &go->lines[place->first + i];
        struct profile_function function = {.name = profile_string_of(to, line->name),
                                            .system_name = profile_string_of(to, line->system_name),
                                            .file = profile_string_of(to, line->file),
                                            .start_line = line->start_line};
        lines[i] =
            (struct profile_line){.function = line->none ? 0 : profile_function(to, &function),
                                  .line = line->line,
                                  .column = line->column};
    }
    uint32_t copy = profile_location(to, &location, lines, place->count);
    free(lines);
    return copy;
}

static uint32_t copy_labels(struct profile *to, const struct go_profile *go,
                            const struct go_sample *sample)
{
    struct profile_label labels[PROFILE_LABELS_MAX + 1];
    size_t count = go_labels(go, sample, labels);
    for (size_t i = 0; i < count; i++) {
        labels[i].key = copy_text(to, go->from, labels[i].key);
        labels[i].text = copy_text(to, go->from, labels[i].text);
        labels[i].unit = copy_text(to, go->from, labels[i].unit);
    }
    if (sample->bytes > 0)
        labels[count++] = (struct profile_label){.key = profile_string_of(to, LABEL_BLOCK_BYTES),
                                                 .number = sample->bytes};
    return profile_label_set(to, labels, (uint32_t)count);
}

static bool write_profile(struct profile *profile)
{
    struct write_options options = {.type = profile->default_type};
    const struct writer *writer = write_find("pprof");
    if (profile->failed)
        compat_out_of_memory();
    bool done = writer && writer->write(profile, &options, stdout);
    profile_free(profile);
    return done;
}

/* A profile of nothing but the rows of -top. */
static bool write_top(struct go_profile *go, const struct go_graph *graph)
{
    struct profile top;
    go_choose_unit(go, graph, false);
    profile_start(&top);
    unsigned cum = profile_type_written(&top, "cum", go->unit);
    unsigned flat = profile_type_written(&top, "flat", go->unit);
    top.default_type = flat;
    top.time_ns = go->from->time_ns;
    top.duration_ns = go->from->duration_ns;
    top.period = go->from->period;
    top.period_type.name = copy_text(&top, go->from, go->from->period_type.name);
    top.period_type.unit = copy_text(&top, go->from, go->from->period_type.unit);
    for (size_t i = 0; i < graph->count; i++) {
        const struct go_node *node = &graph->nodes[graph->order[i]];
        struct profile_function function = {.name = profile_string_of(&top, node->function),
                                            .file = profile_string_of(&top, node->file),
                                            .start_line = node->start_line};
        struct profile_line line = {.function = profile_function(&top, &function),
                                    .line = node->line,
                                    .column = node->column};
        struct profile_location location = {.address = node->address,
                                            .flags = LOCATION_LOOKED | LOCATION_EXACT};
        uint32_t place = profile_location(&top, &location, &line, 1);
        size_t row = profile_sample(&top, profile_stack(&top, &place, 1), 0);
        if (top.failed)
            compat_out_of_memory();
        top.samples.values[cum][row] = scaled(go, go_cum(node));
        top.samples.values[flat][row] = scaled(go, go_flat(node));
    }
    return write_profile(&top);
}

static int64_t scaled(const struct go_profile *go, int64_t value)
{
    const char *unit;
    return (int64_t)go_scale(value, go->sample_unit, go->unit, &unit);
}

static bool write_callgrind(struct go_profile *go, struct go_graph *graph)
{
    struct names objects = {0}, files = {0}, functions = {0};
    const struct go_node *before = NULL;
    char text[32];
    go_choose_unit(go, graph, true);
    char **calls = call_names(graph);
    printf("positions: instr line\nevents: %s(%s)\n", go->sample_type, go->unit);
    for (size_t i = 0; i < graph->count; i++) {
        const struct go_node *node = &graph->nodes[graph->order[i]];
        size_t count;
        struct go_edge **edges = go_edges(graph, graph->order[i], false, &count);
        if (!before || strcmp(node->object, before->object) != 0 ||
            strcmp(node->file, before->file) != 0 ||
            strcmp(node->function, before->function) != 0) {
            putchar('\n');
            print_name(&objects, "ob", node->object);
            print_name(&files, "fl", node->file);
            print_name(&functions, "fn", node->function);
        }
        printf("%s %" PRIu32 " %" PRId64 "\n", place_text(before, node->address, text), node->line,
               scaled(go, go_flat(node)));
        for (size_t k = 0; k < count; k++) {
            const struct go_node *callee = &graph->nodes[edges[k]->to];
            print_name(&files, "cfl", callee->file);
            print_name(&functions, "cfn", calls[edges[k]->to] ? calls[edges[k]->to] : "");
            printf("calls=0 %s %" PRIu32 "\n* * %" PRId64 "\n",
                   place_text(before, callee->address, text), callee->line,
                   scaled(go, edges[k]->weight));
        }
        before = node;
    }
    for (size_t i = 0; i < graph->nodes_count; i++)
        free(calls[i]);
    free(calls);
    tdestroy(objects.tree, free);
    tdestroy(files.tree, free);
    tdestroy(functions.tree, free);
    return true;
}

/* By node: the name that a call of it has. */
static char **call_names(const struct go_graph *graph)
{
    char **names = compat_room(NULL, graph->nodes_count, sizeof(char *));
    struct spot *spots = find_spots(graph);
    memset(names, 0, graph->nodes_count * sizeof(char *));
    for (size_t first = 0, end; first < graph->count; first = end) {
        const char *name = spots[first].node->function;
        size_t kinds = 1, kind = 1;
        for (end = first + 1; end < graph->count; end++) {
            if (compare_functions(spots[first].node, spots[end].node) != 0)
                break;
            kinds += spots[end].leader != spots[end - 1].leader;
        }
        for (size_t i = first; i < end; i++) {
            char **made = &names[graph->order[spots[i].order]];
            kind += i > first && spots[i].leader != spots[i - 1].leader;
            if ((kinds > 1 ? asprintf(made, "%s [%zu/%zu]", name, kind, kinds)
                           : asprintf(made, "%s", name)) < 0)
                compat_out_of_memory();
        }
    }
    free(spots);
    return names;
}

/* All nodes, those of one name together, and among them those of one function. */
static struct spot *find_spots(const struct go_graph *graph)
{
    struct spot *spots = compat_room(NULL, graph->count, sizeof *spots);
    for (uint32_t i = 0; i < graph->count; i++)
        spots[i] = (struct spot){&graph->nodes[graph->order[i]], i, i};
    if (graph->count == 0)
        return spots;
    qsort(spots, graph->count, sizeof *spots, compare_spots);
    for (size_t i = 1; i < graph->count; i++)
        if (compare_functions(spots[i - 1].node, spots[i].node) == 0 &&
            compare_twins(spots[i - 1].node, spots[i].node) == 0)
            spots[i].leader = spots[i - 1].leader;
    qsort(spots, graph->count, sizeof *spots, compare_leaders);
    return spots;
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;
    int order = compare_functions(left->node, right->node);
    if (order == 0)
        order = compare_twins(left->node, right->node);
    return order != 0 ? order : (left->order > right->order) - (left->order < right->order);
}

static int compare_functions(const struct go_node *left, const struct go_node *right)
{
    int order = strcmp(left->file, right->file);
    return order != 0 ? order : strcmp(left->function, right->function);
}

static int compare_twins(const struct go_node *left, const struct go_node *right)
{
    int order = strcmp(left->object, right->object);
    if (order == 0)
        order = (left->start_line > right->start_line) - (left->start_line < right->start_line);
    return order != 0 ? order : (left->above > right->above) - (left->above < right->above);
}

static int compare_leaders(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;
    int order = compare_functions(left->node, right->node);
    return order != 0 ? order : (left->leader > right->leader) - (left->leader < right->leader);
}

static void print_name(struct names *names, const char *key, const char *text)
{
    struct name *name = compat_room(NULL, 1, sizeof *name);
    *name = (struct name){text, names->count + 1};
    struct name **found =
        text[0] ? (struct name **)tsearch(name, &names->tree, compare_names) : NULL;
    if (!found) {
        printf("%s=\n", key);
        free(name);
    } else if (*found == name) {
        names->count++;
        printf("%s=(%zu) %s\n", key, name->number, text);
    } else {
        printf("%s=(%zu)\n", key, (*found)->number);
        free(name);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* An address, by the distance from the one before where that is shorter. */
static const char *place_text(const struct go_node *before, uint64_t address, char text[32])
{
    char distance[32];
    snprintf(text, 32, "0x%" PRIx64, address);
    if (!before)
        return text;
    if (before->address == address)
        return "*";
    int length =
        snprintf(distance, sizeof distance, "%+" PRId64, (int64_t)(address - before->address));
    if ((size_t)length < strlen(text))
        memcpy(text, distance, (size_t)length + 1);
    return text;
}
