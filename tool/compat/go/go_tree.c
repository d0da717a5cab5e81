/* SPDX-License-Identifier: MIT */
/*
 * -call_tree: what a graph has as one node is one for each way that leads to it. Nodes are found by
 * their caller and their kind; all of them are made once, and which are kept is decided as in a
 * graph.
 */
#include "tool/compat/go/go.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct go_graph *graph, int64_t above, uint32_t kind)
{
    uint64_t key = (uint64_t)(above + 1) << 32 | kind;
    key = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
    size_t slot = (key ^ key >> 32) & (graph->below_size - 1);
    while (graph->below[slot] != 0) {
        const struct go_node *node = &graph->nodes[graph->below[slot] - 1];
        if (node->above == above + 1 && node->kind == kind)
            break;
        slot = (slot + 1) & (graph->below_size - 1);
    }
    return slot;
}

uint32_t go_tree_node(const struct go_graph *graph, int64_t above, uint32_t kind)
{
    return graph->below[slot_of(graph, above, kind)] - 1;
}

static void grow(struct go_graph *graph)
{
    graph->below_size = graph->below_size > 0 ? graph->below_size * 2 : 1024;
    graph->below = compat_room(graph->below, graph->below_size, sizeof *graph->below);
    memset(graph->below, 0, graph->below_size * sizeof *graph->below);
    /* The table is never more than half full. */
    graph->nodes = compat_room(graph->nodes, graph->below_size / 2, sizeof *graph->nodes);
    for (uint32_t i = 0; i < graph->nodes_count; i++)
        graph->below[slot_of(graph, (int64_t)graph->nodes[i].above - 1, graph->nodes[i].kind)] =
            i + 1;
}

static int64_t enter(struct go_graph *graph, int64_t above, uint32_t kind)
{
    if (graph->nodes_count * 2 >= graph->below_size)
        grow(graph);
    size_t slot = slot_of(graph, above, kind);
    if (graph->below[slot] == 0) {
        struct go_node *node = &graph->nodes[graph->nodes_count++];
        *node = graph->kinds[kind];
        node->kind = kind;
        node->above = (uint32_t)(above + 1);
        graph->below[slot] = (uint32_t)graph->nodes_count;
    }
    return (int64_t)graph->below[slot] - 1;
}

void go_tree_make(struct go_graph *graph, const struct go_profile *go)
{
    graph->nodes = NULL;
    graph->nodes_count = 0;
    grow(graph);
    for (size_t i = 0; i < go->count; i++) {
        const struct go_sample *sample = &go->samples[i];
        int64_t above = -1;
        if (sample->value == 0 && sample->divisor == 0)
            continue;
        for (uint32_t k = sample->count; k > 0; k--) {
            uint32_t number = go->path[sample->first + k - 1];
            const struct go_place *place = &go->places[number];
            for (uint32_t n = place->count; n > 0; n--)
                above = enter(graph, above, graph->kind_of_line[place->first + n - 1]);
            if (place->count == 0)
                above = enter(graph, above, graph->kind_of_line[go->lines_count + number]);
        }
    }
}
