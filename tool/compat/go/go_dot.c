/* SPDX-License-Identifier: MIT */
/*
 * The graph of Go's pprof in the language of graphviz: boxes by weight, coloured by share. Sizes of
 * fonts, widths of edges, colours and the way names are broken into lines follow Go's, number by
 * number: people compare pictures of two years. Labels beside a node (tags) are its largest ones;
 * sizes of blocks become ranges where there are many.
 */
#include "tool/compat/go/go.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/terminal/terminal.h"

enum { BESIDE_MAX = 4 }; /* labels beside a node */

struct drawing {
    struct go_profile *go;
    struct go_graph *graph;
    struct go_tags tags;
    uint32_t *number; /* by node: from 1 */
    bool *beside;     /* by node: it has labels */
    FILE *out;
};

static void print_legend(const struct drawing *drawing, const char *title, double node_share,
                         double edge_share);
static void print_escaped(FILE *out, const char *text);
static void print_node(struct drawing *drawing, const struct go_node *node, uint32_t number,
                       double largest);
static void print_name(FILE *out, const struct go_node *node);
static char *shorten(const char *name);
static const char *trimmed(const char *text);
static void colour(double score, bool light, char text[16]);
static bool print_tags(struct drawing *drawing, uint32_t node);
static int64_t tag_value(const struct go_tag *tag, bool flat);
static void print_beside(struct drawing *drawing, const char *source, const char *target,
                         const char *name, int64_t value, const char *style);
static bool print_sizes(struct drawing *drawing, const struct go_tag *all, size_t count,
                        const char *labels, bool flat, const char *source);
static size_t collapse(struct go_tag *tags, size_t count, bool flat, char names[BESIDE_MAX][140]);
static double distance(const struct go_tag *a, const struct go_tag *b);
static void join(struct go_tag *group, const struct go_tag *tag, int64_t ends[2]);
static void print_edges(struct drawing *drawing);
static char *title_of(const char *name);
static int compare_edges(const void *a, const void *b, void *context);
static void print_edge(struct drawing *drawing, const struct go_edge *edge);
static int64_t part_of(int64_t value, int64_t parts, int64_t whole);

void go_print_dot(struct go_profile *go, struct go_graph *graph, double node_share,
                  double edge_share, FILE *out)
{
    struct drawing drawing = {.go = go, .graph = graph, .out = out};
    const char *path = go->program;
    double largest = 0;
    if (!path[0] && go->from->mappings.count > 1)
        path = profile_text(go->from, profile_mapping_at(go->from, 1)->path);
    char *title = title_of(name_base(path));
    drawing.number = compat_room(NULL, graph->nodes_count, sizeof *drawing.number);
    drawing.beside = compat_room(NULL, graph->nodes_count, sizeof *drawing.beside);
    memset(drawing.number, 0, graph->nodes_count * sizeof *drawing.number);
    go_tags_make(&drawing.tags, go, graph, graph->node_cutoff); /* in the unit that was asked for */
    go_choose_unit(go, graph, false);
    fprintf(out, "digraph \"%s\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n",
            title[0] ? title : "unnamed");
    print_legend(&drawing, title, node_share, edge_share);
    for (size_t i = 0; i < graph->count; i++) {
        const struct go_node *node = &graph->nodes[graph->order[i]];
        drawing.number[graph->order[i]] = (uint32_t)i + 1;
        if (fabs((double)go_flat(node)) > largest)
            largest = fabs((double)go_flat(node));
    }
    for (size_t i = 0; i < graph->count; i++) {
        uint32_t node = graph->order[i];
        print_node(&drawing, &graph->nodes[node], drawing.number[node], largest);
        drawing.beside[node] = print_tags(&drawing, node);
    }
    print_edges(&drawing);
    fputs("}\n", out);
    go_tags_free(&drawing.tags);
    free(title);
    free(drawing.number);
    free(drawing.beside);
}

/* The program's name between quotes, which it can't end. */
static char *title_of(const char *name)
{
    char *title = strdup(name);
    if (!title)
        compat_out_of_memory();
    terminal_clean(title, strlen(title));
    for (char *at = strpbrk(title, "\"\\"); at; at = strpbrk(at, "\"\\"))
        *at = '?';
    return title;
}

/* The head of the report in a box of its own. */
static void print_legend(const struct drawing *drawing, const char *title, double node_share,
                         double edge_share)
{
    char *head = NULL, *next;
    size_t size;
    FILE *memory = open_memstream(&head, &size);
    if (!memory)
        compat_out_of_memory();
    go_print_labels(drawing->go, drawing->graph, node_share, edge_share, true, memory);
    if (fclose(memory) != 0)
        compat_out_of_memory();
    char *first = strndup(head, strcspn(head, "\n"));
    if (!first)
        compat_out_of_memory();
    fputs("subgraph cluster_L { \"", drawing->out);
    print_escaped(drawing->out, first);
    fputs("\" [shape=box fontsize=16 label=\"", drawing->out);
    for (char *line = head; *line; line = next) {
        next = line + strcspn(line, "\n");
        *next = '\0';
        next++;
        print_escaped(drawing->out, line);
        fputs("\\l", drawing->out);
    }
    fputs("\\lSee https://git.io/JfYMW for how to read the graph\\l\"", drawing->out);
    if (title[0])
        fprintf(drawing->out, " tooltip=\"%s\"", title);
    fputs("] }\n", drawing->out);
    free(first);
    free(head);
}

/* Quotes and backslashes; lines end at the left. */
static void print_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            fputc('\\', out);
        fputs(*text == '\n' ? "\\l" : (char[]){*text, '\0'}, out);
    }
}

static void print_node(struct drawing *drawing, const struct go_node *node, uint32_t number,
                       double largest)
{
    const struct go_profile *go = drawing->go;
    int64_t flat = go_flat(node), cum = go_cum(node);
    double share = (double)cum / fabs((double)go->total);
    char text[2][64], percent[32], line[16], fill[16];
    const char *value = go_format(go, flat, text[0]);
    FILE *out = drawing->out;
    fprintf(out, "N%" PRIu32 " [label=\"", number);
    print_name(out, node);
    if (flat != 0)
        fprintf(out, "%s (%s)", value, trimmed(go_percentage(flat, go->total, percent)));
    else
        fputc('0', out);
    if (cum != flat) {
        value = go_format(go, cum, text[1]);
        fprintf(out, "%sof %s (%s)", flat != 0 ? "\\n" : " ", value,
                trimmed(go_percentage(cum, go->total, percent)));
    }
    unsigned size = 8;
    if (largest != 0 && flat != 0)
        size += (unsigned)ceil(16 * sqrt(fabs((double)flat) / largest));
    colour(share, false, line);
    colour(share, true, fill);
    fprintf(out, "\" id=\"node%" PRIu32 "\" fontsize=%u shape=box tooltip=\"", number, size);
    print_escaped(out, node->name);
    fprintf(out, " (%s)\" color=\"%s\" fillcolor=\"%s\"]\n", value, line, fill);
}

/* The name on several lines: scopes and packages apart. */
static void print_name(FILE *out, const struct go_node *node)
{
    char *name = shorten(node->function);
    const char *base = name_base(node->file);
    if (node->address != 0)
        fprintf(out, "%016" PRIx64 "\\n", node->address);
    for (const char *at = name; *at; at++) {
        if (strncmp(at, "[...]", 5) == 0) {
            fputs("[\u2026]", out);
            at += 4;
        } else if (at[0] == ':' && at[1] == ':') {
            fputs("\\n", out);
            at++;
        } else if (*at == '.') {
            fputs("\\n", out);
        } else {
            print_escaped(out, (char[]){*at, '\0'});
        }
    }
    if (name[0])
        fputs("\\n", out);
    if (node->line != 0 && node->column != 0)
        fprintf(out, "%s:%" PRIu32 ":%" PRIu32 "\\n", base, node->line, node->column);
    else if (node->line != 0)
        fprintf(out, "%s:%" PRIu32 "\\n", base, node->line);
    else if (node->file[0])
        fprintf(out, "%s\\n", base);
    else if (!name[0])
        fprintf(out, "%s\\n", trimmed(node->name));
    free(name);
}

/* What is left of a qualified name where there is little room: Class::method, package.Name. */
static char *shorten(const char *name)
{
    static const char *const patterns[] = {
        "^(?:[\\w\\-\\.]+\\/)+(.+)",
        "^(?:[a-z]\\w*\\.)*([A-Z][\\w\\$]*\\.(?:<init>|[a-z][\\w\\$]*(?:\\$\\d+)?))(?:(?:\\()|$)",
        "^(?:[_a-zA-Z]\\w*::)+(_*[A-Z]\\w*::~?[_a-zA-Z]\\w*(?:<.*>)?)",
    };
    static const char nameless[] = "(anonymous namespace)::";
    if (strncmp(name, nameless, sizeof nameless - 1) == 0)
        name += sizeof nameless - 1;
    char *text = strdup(name), *version = text ? strstr(text, "/v") : NULL;
    if (!text)
        compat_out_of_memory();
    for (; version; version = strstr(version + 1, "/v")) {
        size_t digits = strspn(version + 2, "0123456789");
        bool later = digits > 1 ? version[2] != '0' : version[2] >= '2';
        if (digits > 0 && later && (version[2 + digits] == '.' || version[2 + digits] == '/')) {
            memmove(version, version + 2 + digits, strlen(version + 2 + digits) + 1);
            break;
        }
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct compat_pattern *pattern = compat_pattern(patterns[i]);
        char *found = compat_pattern_take(pattern, text);
        compat_pattern_free(pattern);
        if (!found)
            continue;
        free(text);
        return found;
    }
    return text;
}

static const char *trimmed(const char *text)
{
    return text + strspn(text, " ");
}

/* From green by grey to red; a light one is for what lies behind text. */
static void colour(double score, bool light, char text[16])
{
    double saturation = light ? 0.1 : 1.0, value = light ? 0.93 : 0.7;
    score = score > 1 ? 1 : score < -1 ? -1 : score;
    if (fabs(score) < 0.2)
        saturation *= fabs(score) / 0.2;
    double shifted = pow(fabs(score), 1 - 0.7), faded = value * (1 - saturation * shifted);
    double red = score < 0 ? faded : value, green = score < 0 ? value : faded;
    snprintf(text, 16, "#%02x%02x%02x", (unsigned)(uint8_t)(red * 255),
             (unsigned)(uint8_t)(green * 255), (unsigned)(uint8_t)(value * (1 - saturation) * 255));
}

/* Labels beside a node: the node's own where it calls others, else with all that is cut away. */
static bool print_tags(struct drawing *drawing, uint32_t node)
{
    const struct go_tags *tags = &drawing->tags;
    size_t first = tags->starts[node], count = tags->starts[node + 1] - first, found = 0, edges;
    struct go_tag *texts = compat_room(NULL, count, sizeof *texts);
    char source[32], target[48];
    bool any = false;
    go_edges(drawing->graph, node, false, &edges);
    bool flat = edges > 0;
    for (size_t i = 0; i < count; i++)
        if (!tags->items[first + i].numeric)
            texts[found++] = tags->items[first + i];
    go_tags_sort(texts, found, flat);
    snprintf(source, sizeof source, "N%" PRIu32, drawing->number[node]);
    for (size_t i = 0; i < found && i < BESIDE_MAX; i++) {
        int64_t value = tag_value(&texts[i], flat);
        if (value == 0)
            continue;
        snprintf(target, sizeof target, "%s_%zu", source, i);
        print_beside(drawing, source, target, texts[i].name, value, "");
        print_sizes(drawing, tags->items + first, count, texts[i].name, flat, target);
        any = true;
    }
    any |= print_sizes(drawing, tags->items + first, count, "", flat, source);
    free(texts);
    return any;
}

static int64_t tag_value(const struct go_tag *tag, bool flat)
{
    int64_t value = flat ? tag->flat : tag->cum;
    int64_t divisor = flat ? tag->flat_divisor : tag->cum_divisor;
    return divisor != 0 ? value / divisor : value;
}

static void print_beside(struct drawing *drawing, const char *source, const char *target,
                         const char *name, int64_t value, const char *style)
{
    char text[64];
    const char *shown = go_format(drawing->go, value, text);
    fprintf(drawing->out, "%s [label = \"", target);
    for (; *name; name++)
        fputs(*name == '"' ? "\\\"" : (char[]){*name, '\0'}, drawing->out);
    fprintf(drawing->out,
            "\" id=\"%s\" fontsize=8 shape=box3d tooltip=\"%s\"]\n"
            "%s -> %s [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"%s]\n",
            target, shown, source, target, shown, shown, shown, style);
}

/* The sizes that go with some labels of a node. */
static bool print_sizes(struct drawing *drawing, const struct go_tag *all, size_t count,
                        const char *labels, bool flat, const char *source)
{
    struct go_tag *sizes = compat_room(NULL, count, sizeof *sizes);
    char names[BESIDE_MAX][140], target[64];
    size_t found = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++)
        if (all[i].numeric && strcmp(all[i].labels, labels) == 0)
            sizes[found++] = all[i];
    found = collapse(sizes, found, flat, names);
    for (size_t i = 0; i < found; i++) {
        int64_t own = tag_value(&sizes[i], true), with = tag_value(&sizes[i], false);
        bool plain = flat || own == with;
        if ((plain ? own : with) == 0)
            continue;
        snprintf(target, sizeof target, "N%s_%zu", source, i);
        print_beside(drawing, source, target, sizes[i].name, plain ? own : with,
                     plain ? "" : " style=\"dotted\"");
        any = true;
    }
    free(sizes);
    return any;
}

/* More than a few sizes become ranges, named in `names`. Count of what is left. */
static size_t collapse(struct go_tag *tags, size_t count, bool flat, char names[BESIDE_MAX][140])
{
    int64_t ends[BESIDE_MAX][2];
    struct go_tag groups[BESIDE_MAX];
    char text[2][64];
    go_tags_sort(tags, count, flat);
    if (count <= BESIDE_MAX)
        return count;
    for (size_t i = 0; i < BESIDE_MAX; i++) {
        groups[i] = tags[i];
        ends[i][0] = ends[i][1] = tags[i].value;
    }
    for (size_t i = BESIDE_MAX; i < count; i++) {
        size_t nearest = 0;
        for (size_t k = 1; k < BESIDE_MAX; k++)
            if (distance(&tags[i], &tags[k]) < distance(&tags[i], &tags[nearest]))
                nearest = k;
        join(&groups[nearest], &tags[i], ends[nearest]);
    }
    for (size_t i = 0; i < BESIDE_MAX; i++) {
        const char *min = go_label(ends[i][0], groups[i].unit, "auto", text[0]);
        const char *max = go_label(ends[i][1], groups[i].unit, "auto", text[1]);
        bool range = ends[i][0] != ends[i][1];
        snprintf(names[i], sizeof names[i], "%s%s%s", min, range ? ".." : "", range ? max : "");
        groups[i].name = names[i];
        groups[i].flat = tag_value(&groups[i], true);
        groups[i].cum = tag_value(&groups[i], false);
        groups[i].flat_divisor = groups[i].cum_divisor = 0;
        tags[i] = groups[i];
    }
    go_tags_sort(tags, BESIDE_MAX, flat);
    return BESIDE_MAX;
}

static double distance(const struct go_tag *a, const struct go_tag *b)
{
    const char *unit;
    return fabs(go_scale(b->value, b->unit, a->unit, &unit) - (double)a->value);
}

/* Adds one to a group, which is a range. */
static void join(struct go_tag *group, const struct go_tag *tag, int64_t ends[2])
{
    if (tag->value < ends[0])
        ends[0] = tag->value;
    if (tag->value > ends[1])
        ends[1] = tag->value;
    group->flat += tag->flat;
    group->cum += tag->cum;
    group->flat_divisor += tag->flat_divisor;
    group->cum_divisor += tag->cum_divisor;
}

static void print_edges(struct drawing *drawing)
{
    struct go_graph *graph = drawing->graph;
    struct go_edge **edges = compat_room(NULL, graph->edges_count, sizeof(struct go_edge *));
    size_t count = 0;
    for (size_t i = 0; i < graph->edges_count; i++) {
        struct go_edge *edge = &graph->edges[i];
        /* A node whose gains and losses cancel out is not drawn. */
        if (!edge->gone && drawing->number[edge->from] != 0 && drawing->number[edge->to] != 0)
            edges[count++] = edge;
    }
    if (count > 0)
        qsort_r(edges, count, sizeof(struct go_edge *), compare_edges, graph->nodes);
    for (size_t i = 0; i < count; i++)
        print_edge(drawing, edges[i]);
    free(edges);
}

static int compare_edges(const void *a, const void *b, void *context)
{
    return go_compare_edges(context, *(struct go_edge *const *)a, *(struct go_edge *const *)b);
}

static void print_edge(struct drawing *drawing, const struct go_edge *edge)
{
    const struct go_profile *go = drawing->go;
    const struct go_node *nodes = drawing->graph->nodes;
    int64_t value = edge->divisor != 0 ? edge->weight / edge->divisor : edge->weight;
    char text[64], line[16];
    const char *shown = go_format(go, value, text);
    FILE *out = drawing->out;
    fprintf(out, "N%" PRIu32 " -> N%" PRIu32 " [label=\" %s%s\"", drawing->number[edge->from],
            drawing->number[edge->to], shown, edge->inlined ? "\\n (inline)" : "");
    if (go->total != 0) {
        int64_t weight = 1 + part_of(value, 100, go->total),
                width = 1 + part_of(value, 5, go->total);
        if (weight > 1)
            fprintf(out, " weight=%" PRId64, weight);
        if (width > 1)
            fprintf(out, " penwidth=%" PRId64, width);
        colour((double)value / fabs((double)go->total), false, line);
        fprintf(out, " color=\"%s\"", line);
    }
    for (unsigned i = 0; i < 2; i++) {
        fputs(i == 0 ? " tooltip=\"" : " labeltooltip=\"", out);
        print_escaped(out, nodes[edge->from].name);
        fputs(edge->residual ? " ... " : " -> ", out);
        print_escaped(out, nodes[edge->to].name);
        fprintf(out, " (%s)\"", shown);
    }
    fprintf(out, "%s%s]\n", edge->residual ? " style=\"dotted\"" : "",
            drawing->beside[edge->from] ? " minlen=2" : "");
}

static int64_t part_of(int64_t value, int64_t parts, int64_t whole)
{
    double part = trunc(fabs((double)value * (double)parts / (double)whole));
    return part < (double)parts ? (int64_t)part : parts;
}
