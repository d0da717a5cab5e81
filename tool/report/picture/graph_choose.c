/* SPDX-License-Identifier: MIT */
/*
 * Which boxes and calls a graph shows. Boxes under a share of the whole go, then all but the most
 * telling (graph_score.c).
 *
 * Calls are counted again over the boxes that are left. One that skips boxes which are not drawn
 * is residual; it goes as well where other calls lead the same way.
 */
#include "tool/report/picture/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"

double graph_weight(const struct view *view, const struct view_value *sum)
{
    return (double)sum->value - (view->base != NULL ? (double)sum->base : 0);
}

static int graph_node_compare(const void *left, const void *right)
{
    const struct graph_node *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->row.frame < b->row.frame ? -1 : a->row.frame > b->row.frame;
}

/* The edge between two boxes, made if it is not there. Tables are small: boxes are few. */
static struct graph_edge *graph_edge(struct graph *graph, uint32_t *index, uint32_t caller,
                                     uint32_t callee)
{
    uint32_t *slot = &index[caller * graph->nodes_count + callee];
    if (*slot != 0)
        return &graph->edges[*slot - 1];
    if (!list_reserve(&graph->edges, &graph->edges_room, graph->edges_count + 1,
                      sizeof *graph->edges))
        return NULL;
    graph->edges[graph->edges_count++] =
        (struct graph_edge){.caller = caller, .callee = callee, .residual = true};
    *slot = (uint32_t)graph->edges_count;
    return &graph->edges[graph->edges_count - 1];
}

/* From the root of each stack to its leaf, from chosen box to chosen box. */
static bool graph_connect(struct graph *graph)
{
    const struct view *view = graph->view;
    uint32_t *index = calloc(graph->nodes_count * graph->nodes_count + 1, sizeof *index);
    if (index == NULL)
        return false;
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        struct view_value sum = view_sum(view, i);
        uint32_t caller = UINT32_MAX;
        bool skipped = false;
        for (uint32_t step = stack.count; step-- > 0;) {
            uint32_t frame = stack.frames[step], node = graph->node_of[frame];
            if (node == UINT32_MAX) {
                skipped = true;
                continue;
            }
            if (caller != UINT32_MAX) {
                struct graph_edge *edge = graph_edge(graph, index, caller, node);
                if (edge == NULL) {
                    free(index);
                    return false;
                }
                if (edge->last_stack != i + 1)
                    view_add(&edge->sum, &sum);
                edge->last_stack = i + 1;
                edge->residual = edge->residual && skipped;
                edge->inlined = edge->inlined || (view->frames[frame].flags & FRAME_INLINED) != 0;
            }
            caller = node;
            skipped = false;
        }
    }
    free(index);
    return true;
}

static int graph_edge_compare(const void *left, const void *right)
{
    const struct graph_edge *a = left, *b = right;
    double of_a = fabs((double)a->sum.value - (double)a->sum.base);
    double of_b = fabs((double)b->sum.value - (double)b->sum.base);
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* Whether other calls than `without` lead from one box to another. */
static bool graph_leads(const struct graph *graph, size_t without, bool *seen)
{
    const struct graph_edge *edge = &graph->edges[without];
    memset(seen, 0, graph->nodes_count * sizeof *seen);
    seen[edge->caller] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < graph->edges_count; i++) {
            const struct graph_edge *other = &graph->edges[i];
            if (i == without || other->hidden || !seen[other->caller] || seen[other->callee])
                continue;
            seen[other->callee] = more = true;
        }
    }
    return seen[edge->callee] && edge->caller != edge->callee;
}

static bool graph_thin(struct graph *graph)
{
    bool *seen = malloc(graph->nodes_count + 1);
    if (seen == NULL)
        return false;
    if (graph->edges_count > 1)
        qsort(graph->edges, graph->edges_count, sizeof *graph->edges, graph_edge_compare);
    for (size_t i = 0; i < graph->edges_count; i++)
        graph->edges[i].hidden =
            fabs(graph_weight(graph->view, &graph->edges[i].sum)) < graph->edge_min;
    for (size_t i = graph->edges_count; i-- > 0;)
        if (graph->edges[i].residual && !graph->edges[i].hidden)
            graph->edges[i].hidden = graph_leads(graph, i, seen);
    free(seen);
    return true;
}

bool graph_make(struct graph *graph, const struct view *view, const struct picture_options *options)
{
    *graph = (struct graph){.view = view};
    const struct view_value *sum = &view->total;
    graph->total = fmax(fabs((double)sum->value), fabs((double)sum->base));
    graph->node_min = graph->total * (options->node_share > 0 ? options->node_share : 0.005);
    graph->edge_min = graph->total * (options->edge_share > 0 ? options->edge_share : 0.001);
    struct view_row *rows = view_rows(view, true, &graph->nodes_all);
    graph->nodes = calloc(graph->nodes_all + 1, sizeof *graph->nodes);
    graph->node_of = malloc((view->frames_count + 1) * sizeof *graph->node_of);
    if (rows == NULL || graph->nodes == NULL || graph->node_of == NULL) {
        free(rows);
        return false;
    }
    memset(graph->node_of, 0xff, view->frames_count * sizeof *graph->node_of);
    for (size_t i = 0; i < graph->nodes_all; i++)
        graph->nodes[i].row = rows[i];
    free(rows);
    if (!graph_score(graph))
        return false;
    qsort(graph->nodes, graph->nodes_all, sizeof *graph->nodes, graph_node_compare);
    size_t max = options->nodes_max > 0 ? options->nodes_max : 80;
    while (graph->nodes_count < graph->nodes_all && graph->nodes_count < max &&
           graph->nodes[graph->nodes_count].score >= 0) {
        uint32_t frame = graph->nodes[graph->nodes_count].row.frame;
        graph->node_of[frame] = (uint32_t)graph->nodes_count++;
    }
    return graph_connect(graph) && graph_thin(graph);
}

void graph_free(struct graph *graph)
{
    free(graph->nodes);
    free(graph->edges);
    free(graph->node_of);
}
