/* SPDX-License-Identifier: MIT */
/*
 * The reports of Go's pprof that are text: -top, -tree, -peek, and the lines above them. The unit
 * is chosen once for a report, by its smallest value, or by a hundred times that where the total is
 * far larger, as Go does it; every number is then in that unit, so that columns can be added up by
 * hand.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "tool/compat/go/go.h"
#include "tool/terminal/terminal.h"

const char *go_format(const struct go_profile *go, int64_t value, char text[64])
{
    double by = go->words->value[COMPAT_DIVIDE_BY].number;
    if (by > 0 && by != 1)
        value = (int64_t)((double)value / by);
    return go_label(value, go->sample_unit, go->unit, text);
}

void go_choose_unit(struct go_profile *go, const struct go_graph *graph, bool whole)
{
    int64_t min = 0, max = go->total;
    const char *small, *large, *unit;
    if (strcmp(go->unit, "minimum") != 0 || graph->count == 0)
        return;
    for (size_t i = 0; i < graph->count; i++) {
        const struct go_node *node = &graph->nodes[graph->order[i]];
        int64_t value = llabs(go_flat(node));
        if (value == 0)
            value = llabs(go_cum(node));
        if (value > 0 && (min == 0 || value < min))
            min = value;
    }
    if (min == 0)
        min = max;
    double by = go->words->value[COMPAT_DIVIDE_BY].number;
    if (by > 0 && by != 1) {
        min = (int64_t)((double)min / by);
        max = (int64_t)((double)max / by);
    }
    go_scale(min, go->sample_unit, "minimum", &small);
    go_scale(max, go->sample_unit, "minimum", &large);
    unit = small;
    if (strcmp(small, large) != 0 && min < max / 100 && !whole)
        go_scale(100 * min, go->sample_unit, "minimum", &unit);
    snprintf(go->unit, sizeof go->unit, "%s", unit[0] ? unit : go->sample_unit);
}

/* File, type, time and duration. */
void go_print_head(const struct go_profile *go, FILE *out)
{
    const struct profile *from = go->from;
    const uint32_t *comments = from->comments.items;
    char text[64], share[32], number[64], line[1024];
    const char *file = go->program, *id = "";
    if (from->mappings.count > 1) {
        const struct profile_mapping *first = profile_mapping_at(from, 1);
        if (!file[0])
            file = profile_text(from, first->path);
        if (from->traits & TRAIT_PPROF)
            id = profile_text(from, first->build_id);
    }
    if (file[0])
        fprintf(out, "File: %s\n", style_copy(line, sizeof line, name_base(file)));
    if (id[0])
        fprintf(out, "Build ID: %s\n", style_copy(line, sizeof line, id));
    for (size_t i = 0; i < from->comments.count; i++)
        if (profile_text(from, comments[i])[0] != '#')
            fprintf(out, "%s\n", style_copy(line, sizeof line, profile_text(from, comments[i])));
    if (go->sample_type[0])
        fprintf(out, "Type: %s\n", go->sample_type);
    if (from->time_ns != 0) {
        time_t seconds = (time_t)(from->time_ns / 1000000000);
        struct tm when;
        char month[16], zone[16];
        localtime_r(&seconds, &when);
        strftime(month, sizeof month, "%b", &when);
        strftime(zone, sizeof zone, "%Z", &when);
        fprintf(out, "Time: %s %d, %d at %d:%02d%s (%s)\n", month, when.tm_mday,
                when.tm_year + 1900, when.tm_hour % 12 == 0 ? 12 : when.tm_hour % 12, when.tm_min,
                when.tm_hour < 12 ? "am" : "pm", zone);
    }
    if (from->duration_ns != 0) {
        const char *unit;
        double total = go_scale(go->total, go->sample_unit, "nanoseconds", &unit);
        fprintf(out, "Duration: %s, Total samples = %s ",
                go_label(from->duration_ns, "nanoseconds", "auto", text),
                go_format(go, go->total, number));
        if (strcmp(unit, "ns") == 0 && total != 0)
            fprintf(out, "(%s)", go_percentage((int64_t)total, from->duration_ns, share));
        fputc('\n', out);
    }
}

static void print_filters(const struct go_profile *go, FILE *out)
{
    static const struct {
        enum compat_option option;
        const char *name;
    } filters[] = {{COMPAT_FOCUS, "focus"},         {COMPAT_IGNORE, "ignore"},
                   {COMPAT_HIDE, "hide"},           {COMPAT_SHOW, "show"},
                   {COMPAT_SHOW_FROM, "show_from"}, {COMPAT_TAGFOCUS, "tagfocus"},
                   {COMPAT_TAGIGNORE, "tagignore"}, {COMPAT_TAGSHOW, "tagshow"},
                   {COMPAT_TAGHIDE, "taghide"}};
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        const char *text = compat_text(go->words, filters[i].option);
        if (text[0] == '\0')
            continue;
        if (!any)
            fputs("Active filters:\n", out);
        any = true;
        size_t max = 80 - strlen(filters[i].name) - 1;
        fprintf(out, "   %s=%.*s%s\n", filters[i].name, (int)max, text,
                strlen(text) > max ? "\u2026" : "");
    }
}

void go_print_labels(const struct go_profile *go, const struct go_graph *graph, double node_share,
                     double edge_share, bool whole, FILE *out)
{
    int64_t sum = 0;
    char text[2][64], percent[32];
    if (whole || !go->words->value[COMPAT_COMPACT_LABELS].on)
        go_print_head(go, out);
    for (size_t i = 0; i < graph->count; i++)
        sum += go_flat(&graph->nodes[graph->order[i]]);
    print_filters(go, out);
    const char *part = go_percentage(sum, go->total, percent);
    fprintf(out, "Showing nodes accounting for %s, %s of %s total\n", go_format(go, sum, text[0]),
            part + strspn(part, " "), go_format(go, go->total, text[1]));
    if (go->total == 0)
        return;
    if (graph->dropped_nodes > 0)
        fprintf(out, "Dropped %zu node%s (cum <= %s)\n", graph->dropped_nodes,
                graph->dropped_nodes > 1 ? "s" : "",
                go_format(go, llabs((int64_t)((double)go->total * node_share)), text[0]));
    if (whole && graph->dropped_edges > 0)
        fprintf(out, "Dropped %zu edge%s (freq <= %s)\n", graph->dropped_edges,
                graph->dropped_edges > 1 ? "s" : "",
                go_format(go, llabs((int64_t)((double)go->total * edge_share)), text[0]));
    if (graph->count > 0 && graph->count < graph->before)
        fprintf(out, "Showing top %zu nodes out of %zu\n", graph->count, graph->before);
}

static void print_top(struct go_profile *go, const struct go_graph *graph, double share)
{
    char text[2][64], percent[3][32];
    int64_t sum = 0;
    bool *direct = compat_room(NULL, graph->nodes_count * 2, sizeof *direct);
    bool *inlined = direct + graph->nodes_count;
    memset(direct, 0, graph->nodes_count * 2 * sizeof *direct);
    for (size_t i = 0; i < graph->edges_count; i++)
        if (!graph->edges[i].gone)
            (graph->edges[i].inlined ? inlined : direct)[graph->edges[i].to] = true;
    go_choose_unit(go, graph, false);
    go_print_labels(go, graph, share, 0, false, stdout);
    printf("%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    for (size_t i = 0; i < graph->count; i++) {
        uint32_t number = graph->order[i];
        const struct go_node *node = &graph->nodes[number];
        sum += go_flat(node);
        printf("%10s %s %s %10s %s  %s%s\n", go_format(go, go_flat(node), text[0]),
               go_percentage(go_flat(node), go->total, percent[0]),
               go_percentage(sum, go->total, percent[1]), go_format(go, go_cum(node), text[1]),
               go_percentage(go_cum(node), go->total, percent[2]), node->name,
               !inlined[number] ? ""
               : direct[number] ? " (partial-inline)"
                                : " (inline)");
    }
    free(direct);
}

static void print_edges(const struct go_profile *go, struct go_graph *graph, uint32_t node,
                        bool into)
{
    size_t count;
    struct go_edge **edges = go_edges(graph, node, into, &count);
    char text[64], percent[32];
    for (size_t i = 0; i < count; i++)
        printf("%50s %s |   %s%s\n", go_format(go, edges[i]->weight, text),
               go_percentage(edges[i]->weight, go_cum(&graph->nodes[node]), percent),
               graph->nodes[into ? edges[i]->from : edges[i]->to].name,
               edges[i]->inlined ? " (inline)" : "");
}

/* False: nothing fits the pattern, where there is one. */
static bool print_tree(struct go_profile *go, struct go_graph *graph, double share,
                       const char *pattern)
{
    static const char line[] =
        "----------------------------------------------------------+-------------";
    char text[2][64], percent[3][32];
    int64_t sum = 0;
    size_t matched = 0;
    struct compat_pattern *fits = pattern ? compat_pattern(pattern) : NULL;
    for (size_t i = 0; i < graph->count && fits; i++)
        matched += compat_pattern_fits(fits, graph->nodes[graph->order[i]].name);
    if (fits && matched == 0) {
        fprintf(stderr, "no matches found for regexp: %s\n", pattern);
        compat_pattern_free(fits);
        return false;
    }
    go_choose_unit(go, graph, false);
    go_print_labels(go, graph, share, 0, false, stdout);
    printf("%s\n      flat  flat%%   sum%%        cum   cum%%   calls calls%% + context \t \t \n",
           line);
    for (size_t i = 0; i < graph->count; i++) {
        const struct go_node *node = &graph->nodes[graph->order[i]];
        if (fits && !compat_pattern_fits(fits, node->name))
            continue;
        puts(line);
        print_edges(go, graph, graph->order[i], true);
        sum += go_flat(node);
        printf("%10s %s %s %10s %s                | %s\n", go_format(go, go_flat(node), text[0]),
               go_percentage(go_flat(node), go->total, percent[0]),
               go_percentage(sum, go->total, percent[1]), go_format(go, go_cum(node), text[1]),
               go_percentage(go_cum(node), go->total, percent[2]), node->name);
        print_edges(go, graph, graph->order[i], false);
    }
    if (graph->count > 0)
        puts(line);
    compat_pattern_free(fits);
    return true;
}

static bool is_picture(enum compat_option report)
{
    static const enum compat_option pictures[] = {COMPAT_DOT,    COMPAT_SVG, COMPAT_PDF, COMPAT_PS,
                                                  COMPAT_PNG,    COMPAT_GIF, COMPAT_WEB, COMPAT_GV,
                                                  COMPAT_EVINCE, COMPAT_EOG};
    for (size_t i = 0; i < COUNT_OF(pictures); i++)
        if (pictures[i] == report)
            return true;
    return false;
}

static bool is_callgrind(enum compat_option report)
{
    return report == COMPAT_CALLGRIND || report == COMPAT_KCACHEGRIND;
}

bool go_report(struct go_profile *go, const struct go_settings *settings)
{
    const struct compat_value *value = go->words->value;
    bool trim = value[COMPAT_TRIM].on;
    bool top = settings->report == COMPAT_TEXT || settings->report == COMPAT_TOP ||
               settings->report == COMPAT_TOPPROTO;
    double max = value[COMPAT_NODECOUNT].number;
    struct go_graph graph;
    bool done = true;
    if (max < 0)
        max = top ? 0 : 80;
    if (settings->report == COMPAT_DISASM || settings->report == COMPAT_PEEK ||
        settings->report == COMPAT_TRACES || settings->report == COMPAT_LIST ||
        settings->report == COMPAT_WEBLIST || settings->report == COMPAT_PROTO ||
        is_callgrind(settings->report))
        trim = false;
    double share = trim ? value[COMPAT_NODEFRACTION].number : 0;
    double edge_share = trim ? value[COMPAT_EDGEFRACTION].number : 0;
    bool tree = value[COMPAT_CALL_TREE].on;
    if (is_picture(settings->report))
        go_graph_draw(&graph, go, tree, trim ? max : 0, share, edge_share);
    else
        go_graph_make(&graph, go, tree && is_callgrind(settings->report), value[COMPAT_CUM].on,
                      trim ? max : 0, share, edge_share);
    switch (settings->report) {
    case COMPAT_TREE:
        print_tree(go, &graph, share, NULL);
        break;
    case COMPAT_PEEK:
        done = print_tree(go, &graph, share, settings->pattern);
        break;
    case COMPAT_LIST:
    case COMPAT_WEBLIST:
        done = go_print_list(go, &graph, settings->pattern);
        break;
    case COMPAT_DISASM:
        done = go_print_disasm(go, &graph, settings->pattern);
        break;
    case COMPAT_TRACES:
        go_print_traces(go, &graph);
        break;
    case COMPAT_TAGS:
        go_print_tags(go);
        break;
    case COMPAT_COMMENTS:
        go_print_comments(go);
        break;
    case COMPAT_RAW:
        go_print_raw(go);
        break;
    case COMPAT_TEXT:
    case COMPAT_TOP:
        print_top(go, &graph, share);
        break;
    case COMPAT_PROTO:
    case COMPAT_TOPPROTO:
    case COMPAT_CALLGRIND:
    case COMPAT_KCACHEGRIND:
        done = go_write(go, &graph, settings->report);
        break;
    default:
        go_picture(go, &graph, share, edge_share, settings->report);
    }
    go_graph_free(&graph);
    return done;
}
