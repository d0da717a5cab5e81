/* SPDX-License-Identifier: MIT */
/*
 * The labels beside the nodes of a graph of Go's pprof: what of a node's value has which texts, and
 * with these texts which size of block. A node has at most a few of them.
 */
#include "tool/compat/go/go.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/terminal/terminal.h"

/* What a sample is labelled with. */
struct labelled {
    const char *labels; /* all texts, by key, or "" */
    struct go_tag sizes[PROFILE_LABELS_MAX + 1];
    size_t count;
};

static void label(struct labelled *labelled, struct go_tags *tags, const struct go_profile *go,
                  const struct go_sample *sample);
static int compare_lines(const void *a, const void *b);
static const char *keep(struct go_tags *tags, const char *text);
static int compare_texts(const void *a, const void *b);
static void size_add(struct labelled *labelled, struct go_tags *tags, const struct go_profile *go,
                     int64_t value, const char *unit);
static void add_all(struct go_tags *tags, struct labelled *labelled, const struct go_sample *sample,
                    uint32_t node, bool flat);
static void add(struct go_tags *tags, const struct go_tag *wanted, const struct go_sample *sample,
                bool flat);
static uint64_t tag_hash(const void *context, uint32_t number);
static uint64_t label_hash(const struct go_tag *tag);
static bool tag_same(const void *context, uint32_t number, const void *key);
static void finish(struct go_tags *tags, const struct go_graph *graph, int64_t min);
static int compare_nodes(const void *a, const void *b);
static int compare_flat(const void *a, const void *b);
static int64_t weight(const struct go_tag *tag, bool flat);
static int compare_cum(const void *a, const void *b);

void go_tags_make(struct go_tags *tags, const struct go_profile *go, const struct go_graph *graph,
                  int64_t min)
{
    size_t *seen = compat_room(NULL, graph->nodes_count, sizeof *seen);
    memset(seen, 0, graph->nodes_count * sizeof *seen);
    memset(tags, 0, sizeof *tags);
    for (size_t i = 0; i < go->count; i++) {
        const struct go_sample *sample = &go->samples[i];
        struct labelled labelled;
        int64_t leaf = -1, above = -1;
        if (sample->value == 0 && sample->divisor == 0)
            continue;
        label(&labelled, tags, go, sample);
        if (labelled.labels[0] == '\0' && labelled.count == 0)
            continue;
        for (uint32_t k = sample->count; k > 0; k--) {
            uint32_t number = go->path[sample->first + k - 1];
            const struct go_place *place = &go->places[number];
            uint32_t lines = place->count > 0 ? place->count : 1;
            for (uint32_t n = lines; n > 0; n--) {
                size_t slot = place->count > 0 ? place->first + n - 1 : go->lines_count + number;
                uint32_t node = go_graph_node(graph, above, slot);
                above = node;
                leaf = graph->nodes[node].kept ? (int64_t)node : -1;
                if (leaf >= 0 && seen[node] != i + 1)
                    add_all(tags, &labelled, sample, node, false);
                seen[node] = i + 1;
            }
        }
        if (leaf >= 0)
            add_all(tags, &labelled, sample, (uint32_t)leaf, true);
    }
    free(seen);
    finish(tags, graph, min);
}

static void label(struct labelled *labelled, struct go_tags *tags, const struct go_profile *go,
                  const struct go_sample *sample)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    size_t count = go_labels(go, sample, labels), lines_count = 0, used = 0;
    char *lines[PROFILE_LABELS_MAX], text[8192] = "";
    for (size_t i = 0; i < count; i++) {
        const char *key = profile_text(go->from, labels[i].key);
        if (labels[i].text != 0 && strcmp(key, "pprof::base") != 0 &&
            asprintf(&lines[lines_count++], "%s:%s", key, profile_text(go->from, labels[i].text)) <
                0)
            compat_out_of_memory();
    }
    if (lines_count > 0)
        qsort(lines, lines_count, sizeof(char *), compare_lines);
    for (size_t i = 0; i < lines_count; i++) {
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "\\n" : "",
                                     lines[i]);
        free(lines[i]);
    }
    terminal_clean(text, strlen(text));
    *labelled = (struct labelled){.labels = keep(tags, text)};
    for (size_t i = 0; i < count; i++)
        if (labels[i].text == 0 &&
            strcmp(profile_text(go->from, labels[i].key), LABEL_BLOCK_BYTES) == 0)
            size_add(labelled, tags, go, labels[i].number, go_tag_unit(go, &labels[i]));
    if (sample->bytes > 0)
        size_add(labelled, tags, go, sample->bytes, "bytes");
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each text once, so that equal ones are one address. */
static const char *keep(struct go_tags *tags, const char *text)
{
    char **found = (char **)tfind(text, &tags->texts, compare_texts);
    if (!found) {
        char *copy = strdup(text);
        found = copy ? (char **)tsearch(copy, &tags->texts, compare_texts) : NULL;
    }
    if (!found)
        compat_out_of_memory();
    return *found;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void size_add(struct labelled *labelled, struct go_tags *tags, const struct go_profile *go,
                     int64_t value, const char *unit)
{
    char text[64];
    labelled->sizes[labelled->count++] =
        (struct go_tag){.labels = labelled->labels,
                        .name = keep(tags, go_label(value, unit, go->unit, text)),
                        .unit = unit,
                        .value = value,
                        .numeric = true};
}

static void add_all(struct go_tags *tags, struct labelled *labelled, const struct go_sample *sample,
                    uint32_t node, bool flat)
{
    if (labelled->labels[0]) {
        struct go_tag tag = {.node = node, .labels = labelled->labels, .name = labelled->labels};
        add(tags, &tag, sample, flat);
    }
    for (size_t i = 0; i < labelled->count; i++) {
        labelled->sizes[i].node = node;
        add(tags, &labelled->sizes[i], sample, flat);
    }
}

static void add(struct go_tags *tags, const struct go_tag *wanted, const struct go_sample *sample,
                bool flat)
{
    static const struct map_kind by_labels = {tag_hash, tag_same};
    uint32_t number = compat_find(&tags->known, tags, &by_labels, label_hash(wanted), wanted);
    if (number == MAP_NONE) {
        compat_reserve(&tags->items, &tags->room, tags->count + 1, sizeof *tags->items);
        number = (uint32_t)tags->count++;
        tags->items[number] = *wanted;
        map_add(&tags->known, number);
    }
    struct go_tag *tag = &tags->items[number];
    if (flat) {
        tag->flat += sample->value;
        tag->flat_divisor += sample->divisor;
    } else {
        tag->cum += sample->value;
        tag->cum_divisor += sample->divisor;
    }
}

static uint64_t tag_hash(const void *context, uint32_t number)
{
    return label_hash(&((const struct go_tags *)context)->items[number]);
}

static uint64_t label_hash(const struct go_tag *tag)
{
    uint64_t hash = map_mix(tag->node, (uintptr_t)tag->labels);
    return map_mix(hash, (uintptr_t)tag->name);
}

static bool tag_same(const void *context, uint32_t number, const void *key)
{
    const struct go_tag *a = &((const struct go_tags *)context)->items[number], *b = key;
    return a->node == b->node && a->labels == b->labels && a->name == b->name &&
           a->numeric == b->numeric;
}

/* Drops the small ones and sorts the rest by node. */
static void finish(struct go_tags *tags, const struct go_graph *graph, int64_t min)
{
    size_t kept = 0, node = 0;
    for (size_t i = 0; i < tags->count; i++)
        if (llabs(tags->items[i].flat) >= min || llabs(tags->items[i].cum) >= min)
            tags->items[kept++] = tags->items[i];
    tags->count = kept;
    if (kept > 0)
        qsort(tags->items, kept, sizeof *tags->items, compare_nodes);
    tags->starts = compat_room(NULL, graph->nodes_count + 1, sizeof *tags->starts);
    for (size_t i = 0; i < kept; i++)
        for (; node <= tags->items[i].node; node++)
            tags->starts[node] = (uint32_t)i;
    for (; node <= graph->nodes_count; node++)
        tags->starts[node] = (uint32_t)kept;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct go_tag *left = a, *right = b;
    return (left->node > right->node) - (left->node < right->node);
}

void go_tags_free(struct go_tags *tags)
{
    free(tags->items);
    map_free(&tags->known);
    free(tags->starts);
    tdestroy(tags->texts, free);
}

void go_tags_sort(struct go_tag *tags, size_t count, bool flat)
{
    if (count > 0)
        qsort(tags, count, sizeof *tags, flat ? compare_flat : compare_cum);
}

static int compare_flat(const void *a, const void *b)
{
    const struct go_tag *left = a, *right = b;
    if (weight(left, true) != weight(right, true))
        return weight(left, true) < weight(right, true) ? 1 : -1;
    return strcmp(left->name, right->name);
}

/* The largest first, by what they have themselves or with what they call. */
static int64_t weight(const struct go_tag *tag, bool flat)
{
    return llabs(flat ? tag->flat : tag->cum);
}

static int compare_cum(const void *a, const void *b)
{
    const struct go_tag *left = a, *right = b;
    if (weight(left, false) != weight(right, false))
        return weight(left, false) < weight(right, false) ? 1 : -1;
    return compare_flat(a, b);
}
