/* SPDX-License-Identifier: MIT */
/*
 * `memoir tree`: who called whom, from the roots. The heavy path is open; what is small is one
 * line at the end of its family. A chain of frames with one callee each stays in its column.
 */
#include "tool/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "tool/report/table.h"
#include "tool/report/tree.h"

enum {
    LINES_MOST = 60,
    BAR_WIDTH = 8,
    VALUE_WIDTH = 10,
    SHARE_WIDTH = 7,
    INDENT_MOST = 30,
    PREFIX_SIZE = 160
};

struct walk {
    const struct view *view;
    const struct style *style;
    const struct tree *tree;
    double least; /* value of a node worth a line */
    size_t lines, lines_most;
    struct json json;
};

static void bar_print(const struct style *style, double share)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double cells = share * BAR_WIDTH;
    unsigned whole = cells > 0 ? (unsigned)cells : 0, used = 0;
    if (whole > BAR_WIDTH)
        whole = BAR_WIDTH;
    for (; used < whole; used++)
        fputs(style->utf8 ? "█" : "#", style->out);
    unsigned eighth = whole < BAR_WIDTH ? (unsigned)((cells - whole) * 8) : 0;
    if (style->utf8 && eighth > 0 && eighth < 8) {
        fputs(parts[eighth], style->out);
        used++;
    }
    fprintf(style->out, "%*s", (int)(BAR_WIDTH - used), "");
}

/* Columns before the names; bars are the first to go. */
static bool has_bars(const struct style *style)
{
    return style->width >= 70;
}

static unsigned numbers_width(const struct style *style)
{
    return VALUE_WIDTH + SHARE_WIDTH + 2 + (has_bars(style) ? BAR_WIDTH + 2 : 0);
}

static void numbers_print(const struct walk *walk, int64_t value)
{
    table_value(walk->view, walk->style, value, VALUE_WIDTH);
    table_value_share(walk->view, walk->style, value, SHARE_WIDTH);
    fputs("  ", walk->style->out);
    if (!has_bars(walk->style))
        return;
    bar_print(walk->style, table_share(walk->view, value));
    fputs("  ", walk->style->out);
}

static void node_line(struct walk *walk, const struct tree_node *node, const char *prefix)
{
    const struct style *style = walk->style;
    unsigned used = numbers_width(style), indent = style_columns(prefix);
    numbers_print(walk, node->value);
    style_dim(style, prefix);
    unsigned room = style->width > used + indent + 12 ? style->width - used - indent : 12;
    unsigned name = style->width > used + 40 ? (style->width - used) * 3 / 5 : 24;
    name = name > indent + 16 ? name - indent : 16;
    table_site(walk->view, style, node->frame, name, room);
    putc('\n', style->out);
    walk->lines++;
}

static void hidden_line(struct walk *walk, size_t count, double value, const char *prefix)
{
    char text[64];
    numbers_print(walk, (int64_t)value);
    style_dim(walk->style, prefix);
    snprintf(text, sizeof text, "%s %zu smaller\n", walk->style->utf8 ? "…" : "...", count);
    style_dim(walk->style, text);
    walk->lines++;
}

/* The prefix of a child among several: of its own line, or of those below it. */
static void prefix_make(const struct walk *walk, char *text, const char *prefix, bool last,
                        bool own)
{
    bool utf8 = walk->style->utf8;
    const char *mark = own ? (last ? (utf8 ? "└ " : "` ") : (utf8 ? "├ " : "|-"))
                           : (last ? "  " : (utf8 ? "│ " : "| "));
    unsigned most = walk->style->width / 2 > numbers_width(walk->style) + 8
                        ? INDENT_MOST
                        : (walk->style->width - numbers_width(walk->style)) / 3;
    snprintf(text, PREFIX_SIZE, "%s%s", prefix, style_columns(prefix) < most ? mark : "");
}

/* The children of a node, and theirs. An only child stands right below its caller. */
static void node_text(struct walk *walk, uint32_t parent, const char *prefix, unsigned level)
{
    enum { LEVELS_MOST = 2000 };
    const struct tree_node *nodes = walk->tree->nodes;
    size_t hidden = nodes[parent].hidden, visible = 0;
    double hidden_value = nodes[parent].hidden_value;
    char own[PREFIX_SIZE], below[PREFIX_SIZE];
    for (uint32_t i = nodes[parent].first; i != 0; i = nodes[i].next)
        visible++;
    bool rest = hidden > 0 && hidden_value >= walk->least, several = visible + rest > 1;
    for (uint32_t i = nodes[parent].first; i != 0; i = nodes[i].next) {
        visible--;
        if (walk->lines >= walk->lines_most) {
            hidden++;
            hidden_value += (double)nodes[i].value;
            rest = true;
            continue;
        }
        bool last = visible == 0 && !rest;
        snprintf(own, sizeof own, "%s", prefix);
        snprintf(below, sizeof below, "%s", prefix);
        if (several && parent != 0) {
            prefix_make(walk, own, prefix, last, true);
            prefix_make(walk, below, prefix, last, false);
        }
        node_line(walk, &nodes[i], own);
        if (level < LEVELS_MOST)
            node_text(walk, i, below, level + 1);
    }
    if (rest && walk->lines < walk->lines_most + 10) {
        prefix_make(walk, own, prefix, true, true);
        hidden_line(walk, hidden, hidden_value, several && parent != 0 ? own : prefix);
    }
}

static void step_json(void *context, const struct tree_step *step)
{
    struct walk *walk = context;
    if (step->total.value == 0 && step->total.objects == 0)
        return;
    json_object(&walk->json, NULL);
    json_number(&walk->json, "id", (int64_t)step->number);
    json_number(&walk->json, "caller", (int64_t)step->caller);
    table_json_frame(&walk->json, walk->view, step->frame);
    json_number(&walk->json, "self", step->self);
    json_number(&walk->json, "total", step->total.value);
    json_number(&walk->json, "total_objects", step->total.objects);
    json_end(&walk->json);
}

/* A list: trees of JSON would be too deep for who reads it. A caller comes before its callees. */
static void tree_json(struct walk *walk)
{
    json_start(&walk->json, walk->style->out, false);
    json_object(&walk->json, NULL);
    table_json_head(&walk->json, walk->view, walk->style, "memoir.tree/1");
    json_array(&walk->json, "nodes");
    tree_walk(walk->view, step_json, walk);
    json_end(&walk->json);
    json_end(&walk->json);
    putc('\n', walk->style->out);
}

void report_tree(const struct view *view, const struct style *style)
{
    struct tree tree;
    struct walk walk = {.view = view, .style = style, .tree = &tree};
    double total = (double)view->total.value;
    walk.lines_most = style->rows > 0 ? style->rows : LINES_MOST;
    walk.least = (total < 0 ? -total : total) * (style->rows > 0 ? 0.001 : 0.01);
    if (style->format == STYLE_JSON) {
        tree_json(&walk);
        return;
    }
    if (!tree_make(&tree, view, walk.least))
        return;
    table_head(view, style);
    if (tree.count > 1)
        fprintf(style->out, "%*s%*s%s\n", VALUE_WIDTH, "total",
                (int)numbers_width(style) - VALUE_WIDTH, "", table_by_word(view->options.by));
    node_text(&walk, 0, "", 0);
    tree_free(&tree);
}
