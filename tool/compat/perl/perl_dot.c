/* SPDX-License-Identifier: MIT */
/*
 * Perl's graph of calls in the language of graphviz. Nodes and edges are chosen by a number of
 * nodes and two shares of the total, as in the original, with its rounding: which boxes are in a
 * picture must not change with the program that draws it.
 */
#include "tool/compat/perl/perl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    uint32_t caller, callee;
    double value;
};

struct graph {
    const struct perl_stacks *stacks;
    const struct perl_nodes *nodes;
    uint32_t *order;  /* nodes, the largest first */
    uint32_t *number; /* by node: from 1; 0: it is left out */
    size_t shown;
    double node_limit, edge_limit;
};

static const struct perl_node *sorting;

static void choose(struct graph *graph);
static int compare_nodes(const void *a, const void *b);
static void print_head(const struct graph *graph, FILE *file);
static void print_nodes(const struct graph *graph, FILE *file);
static void print_label(const char *name, FILE *file);
static void print_edges(const struct graph *graph, FILE *file);
static struct edge *gather_edges(const struct graph *graph, size_t *count);
static int compare_pairs(const void *a, const void *b);
static int compare_edges(const void *a, const void *b);
static void print_edge(const struct graph *graph, const struct edge *edge, FILE *file);

bool perl_print_dot(const struct perl_stacks *stacks, FILE *file)
{
    struct perl_nodes nodes;
    struct graph graph = {.stacks = stacks, .nodes = &nodes};
    char node[40], edge[40];
    perl_nodes_make(&nodes, stacks, perl_by(stacks->words));
    choose(&graph);
    if (graph.shown == 0) {
        fputs("No nodes to print\n", stderr);
    } else {
        if (graph.node_limit > 0 || graph.edge_limit > 0)
            fprintf(stderr, "Dropping nodes with <= %s %s; edges with <= %s abs(%s)\n",
                    perl_number(stacks, graph.node_limit, node), perl_units(stacks),
                    perl_number(stacks, graph.edge_limit, edge), perl_units(stacks));
        print_head(&graph, file);
        print_nodes(&graph, file);
        print_edges(&graph, file);
        fputs("}\n", file);
    }
    free(graph.order);
    free(graph.number);
    perl_nodes_free(&nodes);
    return graph.shown > 0;
}

static void choose(struct graph *graph)
{
    const struct compat_value *value = graph->stacks->words->value;
    const struct perl_nodes *nodes = graph->nodes;
    graph->node_limit = trunc(value[COMPAT_NODEFRACTION].number * nodes->total);
    graph->edge_limit = trunc(value[COMPAT_EDGEFRACTION].number * nodes->total);
    graph->order = compat_room(NULL, nodes->count, sizeof *graph->order);
    graph->number = compat_room(NULL, nodes->count, sizeof *graph->number);
    for (uint32_t i = 0; i < nodes->count; i++) {
        graph->order[i] = i;
        graph->number[i] = 0;
    }
    sorting = nodes->nodes;
    if (nodes->count > 0)
        qsort(graph->order, nodes->count, sizeof *graph->order, compare_nodes);
    graph->shown = nodes->count;
    if (value[COMPAT_NODECOUNT].number >= 0 &&
        (double)graph->shown > value[COMPAT_NODECOUNT].number)
        graph->shown = (size_t)value[COMPAT_NODECOUNT].number;
    while (graph->shown > 0 &&
           fabs(nodes->nodes[graph->order[graph->shown - 1]].total) <= graph->node_limit)
        graph->shown--;
    for (size_t i = 0; i < graph->shown; i++)
        graph->number[graph->order[i]] = (uint32_t)i + 1;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct perl_node *left = &sorting[*(const uint32_t *)a];
    const struct perl_node *right = &sorting[*(const uint32_t *)b];
    double x = fabs(left->total), y = fabs(right->total);
    return x != y ? (x < y) - (x > y) : strcmp(left->name, right->name);
}

static void print_head(const struct graph *graph, FILE *file)
{
    const struct perl_stacks *stacks = graph->stacks;
    const char *program = stacks->from->program, *units = perl_units(stacks);
    char total[40], local[40], node[40], edge[40];
    perl_number(stacks, stacks->total, total);
    perl_number(stacks, graph->nodes->total, local);
    perl_number(stacks, graph->node_limit, node);
    perl_number(stacks, graph->edge_limit, edge);
    fprintf(file, "digraph \"%s; %s %s\" {\n", program, total, units);
    if (stacks->words->value[COMPAT_PDF].on)
        fputs("size=\"8,11\"\n", file);
    fputs("node [width=0.375,height=0.25];\n", file);
    fprintf(file,
            "Legend [shape=box,fontsize=24,shape=plaintext,label=\"%s\\lTotal %s: %s\\l"
            "Focusing on: %s\\lDropped nodes with <= %s abs(%s)\\l"
            "Dropped edges with <= %s %s\\l\"];\n",
            program, units, total, local, node, units, edge, units);
}

static void print_nodes(const struct graph *graph, FILE *file)
{
    const struct perl_stacks *stacks = graph->stacks;
    double total = graph->nodes->total;
    char text[40], share[40];
    for (size_t i = 0; i < graph->shown; i++) {
        const struct perl_node *node = &graph->nodes->nodes[graph->order[i]];
        double size = 8;
        if (total > 0)
            size += 50 * sqrt(fabs(node->flat / total));
        fprintf(file, "N%zu [label=\"", i + 1);
        print_label(node->name, file);
        fprintf(file, "\\n%s (%s)", perl_number(stacks, node->flat, text),
                perl_percent(node->flat, total, share));
        if (node->flat != node->total)
            fprintf(file, "\\rof %s (%s)", perl_number(stacks, node->total, text),
                    perl_percent(node->total, total, share));
        const char *style = "";
        if (stacks->words->value[COMPAT_HEAPCHECK].on && node->flat != 0)
            style = node->flat > 0 ? ",style=filled,fillcolor=gray" : ",peripheries=3";
        fprintf(file, "\\r\",shape=box,fontsize=%.1f%s];\n", size, style);
    }
}

/* Spaces and scopes become lines of the label. */
static void print_label(const char *name, FILE *file)
{
    for (; *name; name++) {
        if (*name == ' ' || *name == '\t') {
            while (name[1] == ' ' || name[1] == '\t')
                name++;
            fputs("\\n", file);
        } else if (name[0] == ':' && name[1] == ':') {
            name++;
            fputs("\\n", file);
        } else if (*name == '"') {
            fputs("\\\"", file);
        } else {
            fputc(*name, file);
        }
    }
}

static void print_edges(const struct graph *graph, FILE *file)
{
    const struct compat_value *value = graph->stacks->words->value;
    size_t count;
    struct edge *edges = gather_edges(graph, &count);
    double *into = compat_room(NULL, graph->shown + 1, 2 * sizeof *into);
    double *out = into + graph->shown + 1;
    memset(into, 0, (graph->shown + 1) * 2 * sizeof *into);
    for (size_t i = 0; i < count; i++) {
        const struct edge *edge = &edges[i];
        double max = value[COMPAT_MAXDEGREE].number;
        bool keep =
            into[edge->callee] == 0 || (fabs(edge->value) > graph->edge_limit &&
                                        out[edge->caller] < max && into[edge->callee] < max);
        if (!keep)
            continue;
        out[edge->caller]++;
        into[edge->callee]++;
        print_edge(graph, edge, file);
    }
    free(into);
    free(edges);
}

/* The calls between nodes that are shown, by their numbers. */
static struct edge *gather_edges(const struct graph *graph, size_t *count)
{
    const struct perl_nodes *nodes = graph->nodes;
    size_t stacks = graph->stacks->count, all = 0;
    struct edge *edges = compat_room(NULL, nodes->starts[stacks], sizeof *edges);
    for (size_t i = 0; i < stacks; i++) {
        for (uint32_t k = nodes->starts[i] + 1; k < nodes->starts[i + 1]; k++) {
            uint32_t caller = graph->number[nodes->path[k]];
            uint32_t callee = graph->number[nodes->path[k - 1]];
            if (caller > 0 && callee > 0)
                edges[all++] = (struct edge){caller, callee, graph->stacks->stacks[i].value};
        }
    }
    if (all > 0)
        qsort(edges, all, sizeof *edges, compare_pairs);
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        if (*count > 0 && compare_pairs(&edges[*count - 1], &edges[i]) == 0)
            edges[*count - 1].value += edges[i].value;
        else
            edges[(*count)++] = edges[i];
    }
    if (*count > 0)
        qsort(edges, *count, sizeof *edges, compare_edges);
    return edges;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->caller != right->caller)
        return left->caller < right->caller ? -1 : 1;
    return (left->callee > right->callee) - (left->callee < right->callee);
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? 1 : -1;
    return compare_pairs(a, b);
}

static void print_edge(const struct graph *graph, const struct edge *edge, FILE *file)
{
    const struct compat_value *value = graph->stacks->words->value;
    const struct perl_nodes *nodes = graph->nodes;
    char text[40];
    double share = nodes->total != 0 ? fabs(3 * (edge->value / nodes->total)) : 0;
    double width = (share > 1 ? 1 : share) * 2, weight = pow(fabs(edge->value), 0.7);
    if (width < 1 && (value[COMPAT_WEB].on || value[COMPAT_SVG].on))
        width = 1;
    fprintf(file, "N%u -> N%u [label=%s, weight=%d, style=\"setlinewidth(%f)%s\"];\n", edge->caller,
            edge->callee, perl_number(graph->stacks, edge->value, text),
            weight > 100000 ? 100000 : (int)weight, width,
            strstr(nodes->nodes[graph->order[edge->callee - 1]].name, "(inline)") ? ",dashed" : "");
}
