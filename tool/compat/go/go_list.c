/* SPDX-License-Identifier: MIT */
/*
 * -list of Go's pprof: sources with numbers beside the lines. Functions that fit are printed file
 * by file, with a few lines around those that have samples. A source that can't be found is an
 * error of its own line, and the report goes on: half an answer is what Go's gives, too.
 */
#include "tool/compat/go/go.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/terminal/terminal.h"

enum { MARGIN = 5 }; /* lines around those with samples */

static const struct go_node *sorting;

static int compare_nodes(const void *a, const void *b);
static void print_source(const struct go_profile *go, const struct go_graph *graph,
                         const uint32_t *nodes, size_t count);
static FILE *open_source(const struct go_profile *go, const char *name);
static const char *or_dot(const struct go_profile *go, int64_t value, char text[64]);

/* The name of a source without what -trim_path says, or up to a folder of -source_path. */
const char *go_trim(const struct go_profile *go, const char *name)
{
    const char *prefixes = compat_text(go->words, COMPAT_TRIM_PATH);
    const char *folders = compat_text(go->words, COMPAT_SOURCE_PATH);
    char word[4096];
    for (const char *at = folders; prefixes[0] == '\0' && *at; at += at[0] == ':') {
        size_t length = strcspn(at, ":"), base = length;
        while (base > 0 && at[base - 1] != '/')
            base--;
        snprintf(word, sizeof word, "/%.*s/", (int)(length - base), at + base);
        const char *found = length > base ? strstr(name, word) : NULL;
        if (found)
            return found + strlen(word);
        at += length;
    }
    for (const char *at = prefixes; *at; at += at[0] == ':') {
        size_t length = strcspn(at, ":"), bare = length;
        while (bare > 0 && at[bare - 1] == '/')
            bare--;
        if (length > 0 && strncmp(name, at, bare) == 0 && name[bare] == '/')
            return name + bare + 1;
        at += length;
    }
    return strncmp(name, "/proc/self/cwd/", 15) == 0 ? name + 15 : name;
}

bool go_print_list(struct go_profile *go, const struct go_graph *graph, const char *pattern)
{
    struct compat_pattern *wanted = compat_pattern(pattern);
    uint32_t *nodes = compat_room(NULL, graph->count, sizeof *nodes);
    size_t count = 0;
    char text[64];
    for (size_t i = 0; i < graph->count; i++)
        if (compat_pattern_fits(wanted, graph->nodes[graph->order[i]].function))
            nodes[count++] = graph->order[i];
    compat_pattern_free(wanted);
    if (count == 0) {
        fprintf(stderr, "no matches found for regexp: %s\n", pattern);
        free(nodes);
        return false;
    }
    sorting = graph->nodes;
    if (count > 0)
        qsort(nodes, count, sizeof *nodes, compare_nodes);
    printf("Total: %s\n", go_format(go, go->total, text));
    for (size_t first = 0, end; first < count; first = end) {
        const struct go_node *node = &graph->nodes[nodes[first]];
        for (end = first + 1; end < count; end++) {
            const struct go_node *next = &graph->nodes[nodes[end]];
            if (strcmp(next->function, node->function) != 0 || strcmp(next->file, node->file) != 0)
                break;
        }
        if (node->file[0])
            print_source(go, graph, nodes + first, end - first);
        else if (end - first == count || first == 0)
            printf("No source information for %s\n", node->function);
    }
    free(nodes);
    return true;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct go_node *left = &sorting[*(const uint32_t *)a];
    const struct go_node *right = &sorting[*(const uint32_t *)b];
    int order = strcmp(left->function, right->function);
    if (order == 0)
        order = strcmp(left->file, right->file);
    return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

/* The nodes of one function in one file: `count` of them, by line. */
static void print_source(const struct go_profile *go, const struct go_graph *graph,
                         const uint32_t *nodes, size_t count)
{
    const struct go_node *first = &graph->nodes[nodes[0]];
    uint32_t start = UINT32_MAX, end = 0;
    int64_t flat = 0, cum = 0;
    char text[2][64], percent[32];
    for (size_t i = 0; i < count; i++) {
        const struct go_node *node = &graph->nodes[nodes[i]];
        uint32_t from = node->start_line != 0 ? node->start_line
                        : node->line > MARGIN ? node->line - MARGIN
                                              : 1;
        if (from < start)
            start = from;
        if (node->line + MARGIN > end)
            end = node->line + MARGIN;
        flat += go_flat(node);
        cum += go_cum(node);
    }
    char function[1024], path[1024];
    printf("ROUTINE ======================== %s in %s\n",
           style_copy(function, sizeof function, first->function),
           style_copy(path, sizeof path, first->file));
    printf("%10s %10s (flat, cum) %s of Total\n", go_format(go, flat, text[0]),
           go_format(go, cum, text[1]), go_percentage(cum, go->total, percent));
    FILE *file = open_source(go, first->file);
    if (!file)
        return;
    char *line = NULL;
    size_t room = 0, at = 0;
    for (uint32_t number = 1; number <= end && getline(&line, &room, file) >= 0; number++) {
        if (number < start)
            continue;
        flat = cum = 0;
        for (; at < count && graph->nodes[nodes[at]].line <= number; at++) {
            flat += go_flat(&graph->nodes[nodes[at]]);
            cum += go_cum(&graph->nodes[nodes[at]]);
        }
        line[strcspn(line, "\n")] = '\0';
        terminal_clean(line, strlen(line));
        printf("%10s %10s %6" PRIu32 ":%s\n", or_dot(go, flat, text[0]), or_dot(go, cum, text[1]),
               number, line);
    }
    free(line);
    fclose(file);
}

/* An absolute name is that file; others are looked for in the folders of -source_path, or here, and
 * all above them. What is wrong is printed. */
static FILE *open_source(const struct go_profile *go, const char *name)
{
    const char *folders = compat_text(go->words, COMPAT_SOURCE_PATH);
    char path[4096], here[2048] = "";
    FILE *file = NULL;
    name = go_trim(go, name);
    if (name[0] == '/') {
        file = compat_named_file(name);
        if (!file)
            printf(" Error: open %s: %s\n", name,
                   errno == ENOENT ? "no such file or directory" : strerror(errno));
        return file;
    }
    if (folders[0] == '\0')
        folders = getcwd(here, sizeof here) ? here : ".";
    for (const char *at = folders; !file && *at; at += at[0] == ':') {
        size_t length = strcspn(at, ":");
        for (size_t end = length; !file && end > 0;) {
            snprintf(path, sizeof path, "%.*s/%s", (int)end, at, name);
            file = compat_named_file(path);
            while (end > 0 && at[end - 1] != '/')
                end--;
            while (end > 1 && at[end - 1] == '/')
                end--;
            if (end == 1 && !file) {
                snprintf(path, sizeof path, "/%s", name);
                file = compat_named_file(path);
                end = 0;
            }
        }
        at += length;
    }
    if (!file) {
        go_print_clean(" Error: could not find file ", name, "");
        printf(" on path %s\n", folders);
    }
    return file;
}

static const char *or_dot(const struct go_profile *go, int64_t value, char text[64])
{
    return value == 0 ? "." : go_format(go, value, text);
}
