/* SPDX-License-Identifier: MIT */
/*
 * -call_tree: what a graph has as one node is one for each way that leads to it. Nodes are found by
 * their caller and their kind; all of them are made once, and which are kept is decided as in a
 * graph.
 */
#include "tool/compat/go/go.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

/* The caller as `struct go_node` has it: its number + 1. */
struct tree_key {
    uint32_t above, kind;
};

static uint64_t node_hash(const void *context, uint32_t number);
static uint64_t key_hash(uint32_t above, uint32_t kind);
static bool node_same(const void *context, uint32_t number, const void *key);
static int64_t enter(struct go_graph *graph, int64_t above, uint32_t kind);

static const struct map_kind by_caller = {node_hash, node_same};

uint32_t go_tree_node(const struct go_graph *graph, int64_t above, uint32_t kind)
{
    struct tree_key key = {(uint32_t)(above + 1), kind};
    return map_look_as(&graph->below, graph, &by_caller, key_hash(key.above, kind), &key);
}

static uint64_t node_hash(const void *context, uint32_t number)
{
    const struct go_node *node = &((const struct go_graph *)context)->nodes[number];
    return key_hash(node->above, node->kind);
}

static uint64_t key_hash(uint32_t above, uint32_t kind)
{
    return map_mix(0, (uint64_t)above << 32 | kind);
}

static bool node_same(const void *context, uint32_t number, const void *key)
{
    const struct go_node *node = &((const struct go_graph *)context)->nodes[number];
    const struct tree_key *wanted = key;
    return node->above == wanted->above && node->kind == wanted->kind;
}

void go_tree_make(struct go_graph *graph, const struct go_profile *go)
{
    graph->nodes = NULL;
    graph->nodes_count = graph->nodes_room = 0;
    graph->is_tree = true;
    compat_reserve(&graph->nodes, &graph->nodes_room, 1, sizeof *graph->nodes);
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

static int64_t enter(struct go_graph *graph, int64_t above, uint32_t kind)
{
    struct tree_key key = {(uint32_t)(above + 1), kind};
    uint32_t number =
        compat_find(&graph->below, graph, &by_caller, key_hash(key.above, kind), &key);
    if (number != MAP_NONE)
        return number;
    compat_reserve(&graph->nodes, &graph->nodes_room, graph->nodes_count + 1, sizeof *graph->nodes);
    struct go_node *node = &graph->nodes[graph->nodes_count];
    *node = graph->kinds[kind];
    node->kind = kind;
    node->above = (uint32_t)(above + 1);
    map_add(&graph->below, (uint32_t)graph->nodes_count);
    return (int64_t)graph->nodes_count++;
}
