/* SPDX-License-Identifier: MIT */
/*
 * Nodes and edges as Go's pprof counts them, and which of them it leaves out.
 *
 * A node is a function, line, file or address, as the granularity says. A sample adds to `flat` of
 * its leaf once and to `cum` of each node on its stack once, however often that calls itself; edges
 * count each pair once a sample as well. A node that is left out hands its callers to its callees:
 * those edges are residual. Nodes are cut in two steps, by their share and then by their number,
 * and sums are made again after each: the totals in the legend depend on that order.
 */
#include "tool/compat/go/go.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/terminal/terminal.h"

int64_t go_flat(const struct go_node *node)
{
    return node->flat_divisor != 0 ? node->flat / node->flat_divisor : node->flat;
}

int64_t go_cum(const struct go_node *node)
{
    return node->cum_divisor != 0 ? node->cum / node->cum_divisor : node->cum;
}

/* Address, function, file and line, as far as they are known. */
static char *printable(const struct go_node *node)
{
    const char *base = name_base(node->object);
    size_t size = strlen(node->function) + strlen(node->file) + strlen(node->object) + 64;
    char *text = compat_room(NULL, size, 1);
    int used = 0;
    if (node->address != 0)
        used = snprintf(text, size, "%016" PRIx64 " ", node->address);
    if (node->function[0])
        used += snprintf(text + used, size - (size_t)used, "%s ", node->function);
    if (node->line != 0 && node->column != 0)
        used += snprintf(text + used, size - (size_t)used, "%s:%" PRIu32 ":%" PRIu32 " ",
                         node->file, node->line, node->column);
    else if (node->line != 0)
        used +=
            snprintf(text + used, size - (size_t)used, "%s:%" PRIu32 " ", node->file, node->line);
    else if (node->file[0])
        used += snprintf(text + used, size - (size_t)used, "%s ", node->file);
    else if (node->function[0] == '\0')
        used += snprintf(text + used, size - (size_t)used, base[0] ? "[%s] " : "<unknown> ", base);
    text[used - 1] = '\0';
    return text;
}

static int compare_identity(const struct go_node *left, const struct go_node *right)
{
    int order = strcmp(left->function, right->function);
    if (order == 0)
        order = strcmp(left->file, right->file);
    if (order == 0)
        order = strcmp(left->object, right->object);
    if (order == 0)
        order = (left->line > right->line) - (left->line < right->line);
    if (order == 0)
        order = (left->column > right->column) - (left->column < right->column);
    if (order == 0)
        order = (left->start_line > right->start_line) - (left->start_line < right->start_line);
    if (order == 0)
        order = (left->address > right->address) - (left->address < right->address);
    return order;
}

/* A line of a place, which may be the node of many. */
struct use {
    struct go_node node;
    uint32_t slot; /* in kind_of_line */
};

static int compare_uses(const void *a, const void *b)
{
    return compare_identity(&((const struct use *)a)->node, &((const struct use *)b)->node);
}

/* The file of a place; the program's has the name that was given. */
static const char *object_of(const struct go_profile *go, const struct go_place *place)
{
    if (place->mapping == 0)
        return "";
    uint32_t path = profile_mapping_at(go->from, place->mapping)->path;
    bool main = go->program[0] && path == profile_mapping_at(go->from, 1)->path;
    return main ? go->program : profile_text(go->from, path);
}

static struct go_node node_of(const struct go_profile *go, const struct go_place *place,
                              const struct go_line *line)
{
    const char *object = object_of(go, place);
    if (!line || line->none)
        return (struct go_node){
            .function = "", .file = "", .object = object, .address = place->address};
    return (struct go_node){.function = line->name,
                            .file = go_trim(go, line->file),
                            .object = line->name[0] && !go->objects ? "" : object,
                            .line = line->line,
                            .column = line->column,
                            .start_line = line->name[0] && !go->objects ? 0 : line->start_line,
                            .address = place->address};
}

static void find_kinds(struct go_graph *graph, const struct go_profile *go)
{
    size_t places = go->places_count, count = 0;
    struct use *uses = compat_room(NULL, go->lines_count + places, sizeof *uses);
    for (uint32_t i = 0; i < places; i++) {
        const struct go_place *place = &go->places[i];
        for (uint32_t k = 0; k < place->count; k++)
            uses[count++] =
                (struct use){node_of(go, place, &go->lines[place->first + k]), place->first + k};
        if (place->count == 0)
            uses[count++] = (struct use){node_of(go, place, NULL), (uint32_t)go->lines_count + i};
    }
    if (count > 0)
        qsort(uses, count, sizeof *uses, compare_uses);
    graph->kinds = compat_room(NULL, count, sizeof *graph->kinds);
    graph->kind_of_line = compat_room(NULL, go->lines_count + places, sizeof *graph->kind_of_line);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_uses(&uses[i - 1], &uses[i]) != 0) {
            struct go_node *kind = &graph->kinds[graph->kinds_count++];
            *kind = uses[i].node;
            kind->name = printable(kind);
            kind->kept = true;
        }
        graph->kind_of_line[uses[i].slot] = (uint32_t)graph->kinds_count - 1;
    }
    free(uses);
}

uint32_t go_graph_node(const struct go_graph *graph, int64_t above, size_t slot)
{
    uint32_t kind = graph->kind_of_line[slot];
    return graph->is_tree ? go_tree_node(graph, above, kind) : kind;
}

static uint64_t call_hash(uint32_t from, uint32_t to)
{
    return map_mix(0, (uint64_t)from << 32 | to);
}

static uint64_t edge_hash(const void *context, uint32_t number)
{
    const struct go_edge *edge = &((const struct go_graph *)context)->edges[number];
    return call_hash(edge->from, edge->to);
}

static bool edge_same(const void *context, uint32_t number, const void *key)
{
    const struct go_edge *a = &((const struct go_graph *)context)->edges[number], *b = key;
    return a->from == b->from && a->to == b->to;
}

static struct go_edge *edge_of(struct go_graph *graph, uint32_t from, uint32_t to)
{
    static const struct map_kind by_call = {edge_hash, edge_same};
    struct go_edge edge = {.from = from, .to = to, .inlined = true};
    uint32_t number = compat_find(&graph->calls, graph, &by_call, call_hash(from, to), &edge);
    if (number != MAP_NONE)
        return &graph->edges[number];
    compat_reserve(&graph->edges, &graph->edges_room, graph->edges_count + 1, sizeof *graph->edges);
    map_add(&graph->calls, (uint32_t)graph->edges_count);
    graph->edges[graph->edges_count] = edge;
    return &graph->edges[graph->edges_count++];
}

/* The walk down one stack. */
struct walk {
    struct go_graph *graph;
    const struct go_sample *sample;
    size_t number;
    int64_t above;  /* the node before, or -1 */
    int64_t parent; /* the one that is kept, or -1 */
    bool residual;  /* nodes that are left out lie between, */
    bool called;    /* of a tree, and not all of them are inlined */
};

static void step(struct walk *walk, size_t slot, bool inlined)
{
    uint32_t number = go_graph_node(walk->graph, walk->above, slot);
    struct go_node *node = &walk->graph->nodes[number];
    const struct go_sample *sample = walk->sample;
    walk->above = number;
    if (!node->kept) {
        walk->residual = true;
        walk->called |= walk->graph->is_tree && !inlined;
        return;
    }
    if (node->seen != walk->number) {
        node->seen = walk->number;
        node->cum += sample->value;
        node->cum_divisor += sample->divisor;
    }
    if (walk->parent >= 0 && walk->parent != number) {
        struct go_edge *edge = edge_of(walk->graph, (uint32_t)walk->parent, number);
        if (edge->seen != walk->number) {
            edge->seen = walk->number;
            edge->weight += sample->value;
            edge->divisor += sample->divisor;
            edge->residual |= walk->residual;
            edge->inlined &= inlined && !walk->called;
        }
    }
    walk->parent = number;
    walk->residual = walk->called = false;
}

static void add_sample(struct go_graph *graph, const struct go_profile *go, size_t index)
{
    struct walk walk = {graph, &go->samples[index], index + 1, -1, -1, false, false};
    const struct go_sample *sample = walk.sample;
    if (sample->value == 0 && sample->divisor == 0)
        return;
    for (uint32_t k = sample->count; k > 0; k--) {
        uint32_t number = go->path[sample->first + k - 1];
        const struct go_place *place = &go->places[number];
        for (uint32_t i = place->count; i > 0; i--)
            step(&walk, place->first + i - 1, i < place->count);
        if (place->count == 0)
            step(&walk, go->lines_count + number, false);
    }
    if (walk.parent >= 0 && !walk.residual) {
        graph->nodes[walk.parent].flat += sample->value;
        graph->nodes[walk.parent].flat_divisor += sample->divisor;
    }
}

/* All sums, of the nodes that are kept. */
static void count_up(struct go_graph *graph, const struct go_profile *go)
{
    bool positive = go->words->value[COMPAT_DROP_NEGATIVE].on;
    for (size_t i = 0; i < graph->nodes_count; i++) {
        struct go_node *node = &graph->nodes[i];
        node->flat = node->flat_divisor = node->cum = node->cum_divisor = 0;
        node->seen = 0;
    }
    graph->edges_count = 0;
    map_renew(&graph->calls, 0);
    for (size_t i = 0; i < go->count; i++)
        add_sample(graph, go, i);
    graph->count = 0;
    for (uint32_t i = 0; i < graph->nodes_count; i++) {
        const struct go_node *node = &graph->nodes[i];
        bool negative = node->flat < 0 || (node->flat == 0 && node->cum < 0);
        if (node->kept && (node->cum != 0 || node->flat != 0) && !(positive && negative))
            graph->order[graph->count++] = i;
    }
}

static const struct go_node *sorting;
static bool sorting_by_cum;

static int compare_order(const void *a, const void *b)
{
    const struct go_node *left = &sorting[*(const uint32_t *)a];
    const struct go_node *right = &sorting[*(const uint32_t *)b];
    int64_t x[2] = {llabs(left->flat), llabs(left->cum)};
    int64_t y[2] = {llabs(right->flat), llabs(right->cum)};
    unsigned first = sorting_by_cum, second = 1 - first;
    if (x[first] != y[first])
        return x[first] < y[first] ? 1 : -1;
    int order = strcmp(left->name, right->name);
    if (order != 0)
        return order;
    if (x[second] != y[second])
        return x[second] < y[second] ? 1 : -1;
    return compare_identity(left, right);
}

static void sort(struct go_graph *graph, bool cum)
{
    sorting = graph->nodes;
    sorting_by_cum = cum;
    if (graph->count > 0)
        qsort(graph->order, graph->count, sizeof *graph->order, compare_order);
}

/* Of a tree only nodes that could be shown go: what is below the others is lost. */
static void keep_only(struct go_graph *graph, size_t count, int64_t cutoff)
{
    for (size_t i = 0; i < (graph->is_tree ? graph->count : graph->nodes_count); i++)
        graph->nodes[graph->is_tree ? graph->order[i] : i].kept = false;
    for (size_t i = 0; i < count; i++) {
        struct go_node *node = &graph->nodes[graph->order[i]];
        node->kept = llabs(node->cum) >= cutoff;
    }
}

/* All nodes, without those that are too small. */
static void graph_start(struct go_graph *graph, const struct go_profile *go, bool tree,
                        double node_share, double edge_share)
{
    int64_t total = 0;
    memset(graph, 0, sizeof *graph);
    find_kinds(graph, go);
    graph->nodes = graph->kinds;
    graph->nodes_count = graph->kinds_count;
    if (tree)
        go_tree_make(graph, go);
    graph->order = compat_room(NULL, graph->nodes_count, sizeof *graph->order);
    count_up(graph, go);
    for (size_t i = 0; i < graph->count; i++)
        total += graph->nodes[graph->order[i]].flat;
    graph->node_cutoff = llabs((int64_t)((double)total * node_share));
    graph->edge_cutoff = llabs((int64_t)((double)total * edge_share));
    if (graph->node_cutoff > 0) {
        size_t before = graph->count, kept = 0;
        keep_only(graph, graph->count, graph->node_cutoff);
        for (size_t i = 0; i < graph->count; i++)
            kept += graph->nodes[graph->order[i]].kept;
        graph->dropped_nodes = before - kept;
        if (kept < before)
            count_up(graph, go);
    }
    graph->before = graph->count;
}

void go_graph_keep(struct go_graph *graph, const struct go_profile *go, size_t count)
{
    keep_only(graph, count, 0);
    count_up(graph, go);
}

void go_graph_make(struct go_graph *graph, const struct go_profile *go, bool tree, bool cum,
                   double nodes_max, double node_share, double edge_share)
{
    graph_start(graph, go, tree, node_share, edge_share);
    sort(graph, cum);
    if (nodes_max > 0 && (double)graph->count > nodes_max) {
        go_graph_keep(graph, go, (size_t)nodes_max);
        sort(graph, cum);
    }
    for (size_t i = 0; i < graph->edges_count; i++)
        graph->edges[i].gone = llabs(graph->edges[i].weight) < graph->edge_cutoff;
}

void go_graph_draw(struct go_graph *graph, const struct go_profile *go, bool tree, double nodes_max,
                   double node_share, double edge_share)
{
    graph_start(graph, go, tree, node_share, edge_share);
    go_graph_trim(graph, go, nodes_max);
}

/* By the node at one end, then the heaviest first. */
struct edge_order {
    const struct go_graph *graph;
    bool into;
};

static int compare_edges(const void *a, const void *b, void *context)
{
    const struct edge_order *order_by = context;
    const struct go_node *nodes = order_by->graph->nodes;
    const struct go_edge *left = *(struct go_edge *const *)a, *right = *(struct go_edge *const *)b;
    uint32_t ends[2] = {order_by->into ? left->to : left->from,
                        order_by->into ? right->to : right->from};
    if (ends[0] != ends[1])
        return ends[0] < ends[1] ? -1 : 1;
    return go_compare_edges(nodes, left, right);
}

int go_compare_edges(const struct go_node *nodes, const struct go_edge *left,
                     const struct go_edge *right)
{
    if (left->weight != right->weight && llabs(left->weight) != llabs(right->weight))
        return llabs(left->weight) < llabs(right->weight) ? 1 : -1;
    int order = strcmp(nodes[left->from].name, nodes[right->from].name);
    return order != 0 ? order : strcmp(nodes[left->to].name, nodes[right->to].name);
}

static void sort_edges(struct go_graph *graph, bool into)
{
    struct edge_order order = {graph, into};
    struct go_edge **sorted = compat_room(NULL, graph->edges_count, sizeof(struct go_edge *));
    uint32_t *starts = compat_room(NULL, graph->nodes_count + 1, sizeof *starts);
    size_t count = 0, node = 0;
    for (size_t i = 0; i < graph->edges_count; i++)
        if (!graph->edges[i].gone)
            sorted[count++] = &graph->edges[i];
    if (count > 0)
        qsort_r(sorted, count, sizeof(struct go_edge *), compare_edges, &order);
    for (size_t i = 0; i < count; i++)
        for (uint32_t end = into ? sorted[i]->to : sorted[i]->from; node <= end; node++)
            starts[node] = (uint32_t)i;
    for (; node <= graph->nodes_count; node++)
        starts[node] = (uint32_t)count;
    graph->sorted[into] = sorted;
    graph->starts[into] = starts;
}

struct go_edge **go_edges(struct go_graph *graph, uint32_t node, bool into, size_t *count)
{
    if (!graph->sorted[into])
        sort_edges(graph, into);
    const uint32_t *starts = graph->starts[into];
    *count = starts[node + 1] - starts[node];
    return graph->sorted[into] + starts[node];
}

void go_graph_free(struct go_graph *graph)
{
    for (size_t i = 0; i < graph->kinds_count; i++)
        free(graph->kinds[i].name);
    if (graph->nodes != graph->kinds)
        free(graph->nodes);
    free(graph->kinds);
    free(graph->kind_of_line);
    map_free(&graph->below);
    free(graph->order);
    free(graph->edges);
    map_free(&graph->calls);
    for (unsigned i = 0; i < 2; i++) {
        free(graph->sorted[i]);
        free(graph->starts[i]);
    }
}
