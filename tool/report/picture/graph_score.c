/* SPDX-License-Identifier: MIT */
/*
 * How much a box of a graph tells: a function through which everything passes in one direction
 * says little, one that spreads it says much, so a box counts by its total times how evenly it is
 * spread over its neighbours (the entropy), as in pprof.
 *
 * That asks for the sum of every call from or to a box, and of a million stacks nearly every call
 * may be another one. So there is a limit to how many calls are known at a time: where it is
 * reached, the smaller boxes are left for the next walk over the stacks.
 */
#include "tool/report/picture/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"

/* A call as one of its boxes sees it. */
struct flow {
    uint32_t node;  /* in graph->nodes, times 2; plus 1: it leads away from it */
    uint32_t other; /* frame; UINT32_MAX: none, the box is a root */
    int64_t change; /* the value, or its difference from the base; each stack once */
};

struct flows {
    const struct graph *graph;
    const uint32_t *node_of; /* by frame; UINT32_MAX: too small */
    struct flow *items;
    uint32_t *last; /* by flow: stack + 1 that was counted */
    struct map map;
    size_t count, room, last_room;
    size_t max;               /* more only if it must be */
    uint32_t first, end, all; /* nodes whose flows are kept, of all */
};

static bool flows_walk(struct flows *flows);
static bool flow_add(struct flows *flows, uint32_t node, uint32_t other, size_t stack,
                     int64_t change);
static bool flows_drop(struct flows *flows);
static uint64_t known_hash(const void *context, uint32_t number);
static uint64_t flow_hash(uint32_t node, uint32_t other);
static bool known_same(const void *context, uint32_t number, const void *key);
static void flows_score(struct flows *flows, struct graph *graph);
static int flow_compare(const void *left, const void *right);
static void node_score(const struct view *view, struct graph_node *node, const struct flow *flows,
                       size_t count);
static double entropy(double part, double whole);

bool graph_score(struct graph *graph)
{
    const struct view *view = graph->view;
    uint32_t *node_of = malloc((view->frames_count + 1) * sizeof *node_of);
    /* Flows in memory at a time; after 8 walks over all stacks twice as many, as time counts,
     * too. */
    enum { FLOWS_MAX = 1 << 18, WALKS = 8 };
    struct flows flows = {.graph = graph, .node_of = node_of, .max = FLOWS_MAX};
    bool ok = node_of != NULL;
    if (ok)
        memset(node_of, 0xff, (view->frames_count + 1) * sizeof *node_of);
    for (size_t i = 0; i < graph->nodes_all && ok; i++) {
        struct graph_node *node = &graph->nodes[i];
        node->score = -1;
        if (fabs(graph_weight(view, &node->row.total)) >= graph->node_min) {
            node_of[node->row.frame] = (uint32_t)i;
            flows.all = (uint32_t)i + 1;
        }
    }
    for (unsigned walks = 1; ok && flows.first < flows.all; walks++) {
        flows.count = 0;
        flows.end = flows.all;
        map_renew(&flows.map, 0);
        ok = flows_walk(&flows);
        if (ok)
            flows_score(&flows, graph);
        flows.first = flows.end;
        if (walks % WALKS == 0) /* time counts as well */
            flows.max *= 2;
    }
    free(flows.items);
    free(flows.last);
    map_free(&flows.map);
    free(node_of);
    return ok;
}

/* The flows of the nodes from `first` on, as many as there is room for. */
static bool flows_walk(struct flows *flows)
{
    const struct view *view = flows->graph->view;
    bool ok = true;
    for (size_t i = 0; i < view->stacks_count && ok; i++) {
        struct view_stack stack = view_stack(view, i);
        struct view_value sum = view_sum(view, i);
        int64_t change = (int64_t)((uint64_t)sum.value - (view->base ? (uint64_t)sum.base : 0));
        for (uint32_t k = 0; k < stack.count && ok; k++) {
            uint32_t callee = stack.frames[k], to = flows->node_of[callee];
            uint32_t caller = k + 1 < stack.count ? stack.frames[k + 1] : UINT32_MAX;
            uint32_t from = caller != UINT32_MAX ? flows->node_of[caller] : UINT32_MAX;
            if (to != UINT32_MAX)
                ok = flow_add(flows, 2 * to, caller, i, change);
            if (from != UINT32_MAX && ok)
                ok = flow_add(flows, 2 * from + 1, callee, i, change);
        }
    }
    return ok;
}

static bool flow_add(struct flows *flows, uint32_t node, uint32_t other, size_t stack,
                     int64_t change)
{
    if (node / 2 < flows->first || node / 2 >= flows->end)
        return true;
    if (flows->count >= flows->max && flows->end - flows->first > 1) {
        if (!flows_drop(flows))
            return false;
        if (node / 2 >= flows->end)
            return true;
    }
    static const struct map_kind kind = {known_hash, known_same};
    struct flow wanted = {node, other, 0};
    uint32_t number;
    if (!map_find_as(&flows->map, flows, &kind, flow_hash(node, other), &wanted, &number) ||
        !list_reserve(&flows->items, &flows->room, flows->count + 1, sizeof *flows->items) ||
        !list_reserve(&flows->last, &flows->last_room, flows->count + 1, sizeof *flows->last))
        return false;
    if (number == MAP_NONE) {
        number = (uint32_t)flows->count++;
        flows->items[number] = wanted;
        flows->last[number] = 0;
        map_add(&flows->map, number);
    }
    if (flows->last[number] == stack + 1)
        return true;
    struct flow *flow = &flows->items[number];
    flows->last[number] = (uint32_t)stack + 1;
    flow->change = (int64_t)((uint64_t)flow->change + (uint64_t)change);
    return true;
}

/* Leaves the last nodes out, so that half of them are gone; one node stays in any case. */
static bool flows_drop(struct flows *flows)
{
    size_t kept = 0, sum = 0;
    uint32_t end = flows->first;
    size_t *counts = calloc(flows->end - flows->first, sizeof *counts);
    if (!counts)
        return false;
    for (size_t i = 0; i < flows->count; i++)
        counts[flows->items[i].node / 2 - flows->first]++;
    do
        sum += counts[end++ - flows->first];
    while (end < flows->end && sum + counts[end - flows->first] <= flows->count / 2);
    free(counts);
    for (size_t i = 0; i < flows->count; i++) {
        if (flows->items[i].node / 2 >= end)
            continue;
        flows->items[kept] = flows->items[i];
        flows->last[kept++] = flows->last[i];
    }
    flows->end = end;
    flows->count = kept;
    map_renew(&flows->map, kept);
    return true;
}

static uint64_t known_hash(const void *context, uint32_t number)
{
    const struct flow *flow = &((const struct flows *)context)->items[number];
    return flow_hash(flow->node, flow->other);
}

static uint64_t flow_hash(uint32_t node, uint32_t other)
{
    return map_mix(map_mix(0, node), other);
}

static bool known_same(const void *context, uint32_t number, const void *key)
{
    const struct flow *a = &((const struct flows *)context)->items[number], *b = key;
    return a->node == b->node && a->other == b->other;
}

static void flows_score(struct flows *flows, struct graph *graph)
{
    size_t at = 0;
    if (flows->count > 1)
        qsort(flows->items, flows->count, sizeof *flows->items, flow_compare);
    for (uint32_t node = flows->first; node < flows->end; node++) {
        size_t start = at;
        while (at < flows->count && flows->items[at].node / 2 == node)
            at++;
        node_score(graph->view, &graph->nodes[node], flows->items + start, at - start);
    }
}

/* By node, the heaviest first: sums of fractions depend on the order. */
static int flow_compare(const void *left, const void *right)
{
    const struct flow *a = left, *b = right;
    if (a->node / 2 != b->node / 2)
        return a->node < b->node ? -1 : 1;
    uint64_t of_a = a->change < 0 ? 0 - (uint64_t)a->change : (uint64_t)a->change;
    uint64_t of_b = b->change < 0 ? 0 - (uint64_t)b->change : (uint64_t)b->change;
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    if (a->other != b->other)
        return a->other < b->other ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void node_score(const struct view *view, struct graph_node *node, const struct flow *flows,
                       size_t count)
{
    double self = fabs(graph_weight(view, &node->row.self)), flow[2] = {0, self};
    for (size_t i = 0; i < count; i++)
        flow[flows[i].node & 1] += fabs((double)flows[i].change);
    double spread = entropy(self, flow[1]);
    for (size_t i = 0; i < count; i++)
        spread += entropy((double)flows[i].change, flow[flows[i].node & 1]);
    node->score = spread * fabs(graph_weight(view, &node->row.total)) + self;
}

/* The part of one neighbour in the entropy. */
static double entropy(double part, double whole)
{
    double share = fabs(part) / whole;
    return whole > 0 && share > 0 ? -share * log2(share) : 0;
}
