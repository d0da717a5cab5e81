/* SPDX-License-Identifier: MIT */
/*
 * What of a graph Go's pprof draws. Nodes rank by their weight times how much their edges tell: one
 * that has many callers or callees of similar weight tells more than one on a single path. Dotted
 * edges, over nodes that are left out, go where another way leads there.
 */
#include "tool/compat/go/go.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BESIDE_MAX = 4 }; /* labels beside a node */

/* The edges on one side of a node, and what they tell. */
struct side {
    size_t count;
    double total, score;
};

struct ranking {
    const struct go_graph *graph;
    const int64_t *ranks;
};

static void sort(struct go_graph *graph);
static int64_t *rank(const struct go_graph *graph);
static double information(double part, double whole);
static int64_t rank_of(double score, int64_t flat);
static int compare_ranks(const void *a, const void *b, void *context);
static int64_t size_of(int64_t rank);
static size_t trim_edges(struct go_graph *graph);
static size_t count_fitting(const struct go_graph *graph, const struct go_profile *go, double max);
static void drop_redundant(struct go_graph *graph);
static bool is_redundant(struct go_graph *graph, const struct go_edge *edge, uint32_t *queue,
                         uint32_t *seen, uint32_t mark);

void go_graph_trim(struct go_graph *graph, const struct go_profile *go, double nodes_max)
{
    sort(graph);
    if (nodes_max > 0) {
        trim_edges(graph);
        size_t fitting = count_fitting(graph, go, nodes_max);
        if (fitting < graph->count) {
            go_graph_keep(graph, go, fitting);
            sort(graph);
        }
    }
    graph->dropped_edges = trim_edges(graph);
    drop_redundant(graph);
}

static void sort(struct go_graph *graph)
{
    int64_t *ranks = rank(graph);
    struct ranking ranking = {graph, ranks};
    if (graph->count > 0)
        qsort_r(graph->order, graph->count, sizeof *graph->order, compare_ranks, &ranking);
    free(ranks);
}

/* By node: its rank. */
static int64_t *rank(const struct go_graph *graph)
{
    size_t count = graph->nodes_count;
    struct side *sides = compat_room(NULL, 2 * count, sizeof *sides);
    int64_t *ranks = compat_room(NULL, count, sizeof *ranks);
    memset(sides, 0, 2 * count * sizeof *sides);
    for (size_t i = 0; i < count; i++)
        sides[2 * i + 1].total = (double)graph->nodes[i].flat;
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < graph->edges_count; i++) {
            const struct go_edge *edge = &graph->edges[i];
            struct side *ends[2] = {&sides[2 * (size_t)edge->to],
                                    &sides[2 * (size_t)edge->from + 1]};
            for (unsigned k = 0; k < 2 && !edge->gone; k++) {
                if (pass == 0 && edge->weight > 0)
                    ends[k]->total += (double)edge->weight;
                if (pass == 1 && ends[k]->total != 0)
                    ends[k]->score += information((double)edge->weight, ends[k]->total);
                ends[k]->count++;
            }
        }
    for (size_t i = 0; i < count; i++) {
        const struct go_node *node = &graph->nodes[i];
        struct side *in = &sides[2 * i], *out = &sides[2 * i + 1];
        if (out->count > 0 && node->flat > 0 && out->total != 0)
            out->score += information((double)node->flat, out->total);
        double score = (in->count > 0 ? in->score : 1) + (out->count > 0 ? out->score : 1);
        ranks[i] = rank_of(score * (double)node->cum, node->flat);
    }
    free(sides);
    return ranks;
}

static double information(double part, double whole)
{
    double share = fabs(part) / whole;
    return -share * log2(share);
}

/* Where gains and losses cancel out, a score is no number: then Go's is the least there is, and
 * sums with it wrap. */
static int64_t rank_of(double score, int64_t flat)
{
    int64_t whole = score > -9e18 && score < 9e18 ? (int64_t)score : INT64_MIN;
    return (int64_t)((uint64_t)whole + (uint64_t)flat);
}

static int compare_ranks(const void *a, const void *b, void *context)
{
    const struct ranking *ranking = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct go_node *nodes = ranking->graph->nodes;
    int64_t x = size_of(ranking->ranks[left]), y = size_of(ranking->ranks[right]);
    if (x != y)
        return x < y ? 1 : -1;
    int order = strcmp(nodes[left].name, nodes[right].name);
    if (order != 0)
        return order;
    x = llabs(nodes[left].flat);
    y = llabs(nodes[right].flat);
    return x != y ? (x < y ? 1 : -1) : (left > right) - (left < right);
}

static int64_t size_of(int64_t rank)
{
    return rank < 0 ? (int64_t)(0 - (uint64_t)rank) : rank;
}

static size_t trim_edges(struct go_graph *graph)
{
    size_t dropped = 0;
    for (size_t i = 0; i < graph->edges_count; i++) {
        struct go_edge *edge = &graph->edges[i];
        if (edge->gone || llabs(edge->weight) >= graph->edge_cutoff)
            continue;
        edge->gone = true;
        dropped++;
    }
    return dropped;
}

/* How many nodes fit where labels beside them take room, too. */
static size_t count_fitting(const struct go_graph *graph, const struct go_profile *go, double max)
{
    struct go_tags tags;
    size_t used = 0, fitting = 0;
    go_tags_make(&tags, go, graph, graph->node_cutoff);
    for (; fitting < graph->count && (double)used < max; fitting++) {
        uint32_t node = graph->order[fitting];
        size_t beside = 0;
        for (uint32_t i = tags.starts[node]; i < tags.starts[node + 1]; i++)
            beside += tags.items[i].flat != 0;
        used += 1 + (beside < BESIDE_MAX ? beside : BESIDE_MAX);
    }
    go_tags_free(&tags);
    return fitting;
}

static void drop_redundant(struct go_graph *graph)
{
    uint32_t *queue = compat_room(NULL, 2 * graph->nodes_count, sizeof *queue), mark = 0;
    uint32_t *seen = queue + graph->nodes_count;
    memset(seen, 0, graph->nodes_count * sizeof *seen);
    for (size_t i = graph->count; i > 0; i--) {
        size_t count;
        struct go_edge **in = go_edges(graph, graph->order[i - 1], true, &count);
        for (size_t k = count; k > 0 && in[k - 1]->residual; k--)
            in[k - 1]->gone = is_redundant(graph, in[k - 1], queue, seen, ++mark);
    }
    free(queue);
    for (unsigned i = 0; i < 2; i++) {
        free(graph->sorted[i]);
        free(graph->starts[i]);
        graph->sorted[i] = NULL;
        graph->starts[i] = NULL;
    }
}

/* Whether its source leads to its target in another way. */
static bool is_redundant(struct go_graph *graph, const struct go_edge *edge, uint32_t *queue,
                         uint32_t *seen, uint32_t mark)
{
    size_t first = 0, end = 0;
    queue[end++] = edge->to;
    seen[edge->to] = mark;
    while (first < end) {
        size_t count;
        struct go_edge **in = go_edges(graph, queue[first++], true, &count);
        for (size_t i = 0; i < count; i++) {
            if (in[i]->gone || in[i] == edge || seen[in[i]->from] == mark)
                continue;
            if (in[i]->from == edge->from)
                return true;
            seen[in[i]->from] = mark;
            queue[end++] = in[i]->from;
        }
    }
    return false;
}
