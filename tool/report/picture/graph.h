/* SPDX-License-Identifier: MIT */
/* What is drawn of a call graph: the boxes that say most, and the calls between them. */
#ifndef REPORT_PICTURE_GRAPH_H
#define REPORT_PICTURE_GRAPH_H

#include "tool/report/picture/draw.h"

struct graph_node {
    struct view_row row;
    double score;
    bool chosen;
};

struct graph_edge {
    uint32_t caller, callee; /* in graph->nodes */
    struct view_value sum;
    bool residual; /* over frames that are not drawn */
    bool inlined, hidden;
    size_t last_stack; /* counted last, plus 1 */
};

struct graph {
    const struct view *view;
    struct graph_node *nodes; /* the chosen ones, most important first */
    size_t nodes_count, nodes_all;
    struct graph_edge *edges;
    size_t edges_count, edges_room;
    uint32_t *node_of; /* by frame; UINT32_MAX: not drawn */
    double total;      /* what shares are of */
    double node_min, edge_min;
};

/* False when memory is out. Pair with graph_free. */
bool graph_make(struct graph *graph, const struct view *view,
                const struct picture_options *options);
void graph_free(struct graph *graph);
/* Gives all nodes, which are in the order of their totals, their scores; of one that is too small
 * to be drawn it is negative. False when memory is out. */
bool graph_score(struct graph *graph);
/* What weighs: the value, or its change against the base. */
double graph_weight(const struct view *view, const struct view_value *sum);

#endif
