/* SPDX-License-Identifier: MIT */
/*
 * `memoir tree`: callers and callees, from the roots. What is heavy has a line, wherever it is in
 * the tree; what is small is one line at the end of its family. A chain of frames with one callee
 * each stays in its column.
 */
#include "tool/report/text/text.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"

enum {
    LINES_MAX = 60, /* about a screen, unless --rows says it */
    BAR_WIDTH = 8,
    VALUE_WIDTH = 10,
    SHARE_WIDTH = 7,
    INDENT_MAX = 30, /* deeper lines keep it, so that names have room */
    PREFIX_SIZE = 160
};

struct walk {
    const struct view *view;
    const struct style *style;
    const struct tree *tree;
    double min;      /* value of a node worth a line */
    uint32_t *ranks; /* of each node: how many come before it, if there is not room for all */
    uint32_t shown;  /* nodes of lower ranks have a line */
    struct json json;
};

/* The children of a node that have no line. */
struct rest {
    size_t count;
    double value;
    bool full; /* some of them for want of lines */
    bool line; /* together they have one */
};

static void tree_json(struct walk *walk);
static void step_json(void *context, const struct tree_step *step);
static bool nodes_choose(struct walk *walk, size_t max);
static int heavier(const void *left, const void *right, void *nodes);
static size_t lines_of(const struct walk *walk);
static unsigned numbers_width(const struct style *style);
static bool has_bars(const struct style *style);
static struct rest rest_of(const struct walk *walk, uint32_t parent);
static void node_text(struct walk *walk, uint32_t parent, const char *prefix, unsigned level);
static void prefix_make(const struct walk *walk, char *text, const char *prefix, bool last,
                        bool own);
static void node_line(struct walk *walk, const struct tree_node *node, const char *prefix);
static void numbers_print(const struct walk *walk, int64_t value);
static void bar_print(const struct style *style, double share);
static void hidden_line(const struct walk *walk, const struct rest *rest, const char *prefix);

/* ---- which nodes have a line ------------------------------------------------------------ */

void report_tree(const struct view *view, const struct style *style)
{
    struct tree tree;
    struct walk walk = {.view = view, .style = style, .tree = &tree};
    double total = (double)view->total.value;
    walk.min = (total < 0 ? -total : total) * (style->rows > 0 ? 0.001 : 0.01);
    if (style->format == STYLE_JSON) {
        tree_json(&walk);
        return;
    }
    if (!tree_make(&tree, view, walk.min)) {
        shortage_note();
        return;
    }
    table_head(view, style);
    if (tree.count > 1)
        fprintf(style->out, "%*s%*s%s\n", VALUE_WIDTH, "total",
                (int)numbers_width(style) - VALUE_WIDTH, "", view_by_word(view->options.by));
    if (nodes_choose(&walk, style->rows > 0 ? style->rows : LINES_MAX))
        node_text(&walk, 0, "", 0);
    else
        shortage_note();
    if (walk.shown < tree.count && tree.count > 1)
        style_dim(style, "more rows (--rows 0 shows them)\n");
    free(walk.ranks);
    tree_free(&tree);
}

/* A list: nested JSON would be too deep for parsers. A caller comes before its callees. */
static void tree_json(struct walk *walk)
{
    json_start(&walk->json, walk->style->out, false);
    json_object(&walk->json, NULL);
    table_json_head(&walk->json, walk->view, walk->style, "memoir.tree/1");
    json_array(&walk->json, "nodes");
    if (!tree_walk(walk->view, step_json, walk))
        shortage_note();
    json_end(&walk->json);
    json_end(&walk->json);
    putc('\n', walk->style->out);
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

/* The heaviest nodes of all, as many as there may be lines: cut off at the end, the text would
 * lack large branches for the sake of small ones. */
static bool nodes_choose(struct walk *walk, size_t max)
{
    uint32_t count = (uint32_t)walk->tree->count, low = 1, high = count;
    uint32_t *order = malloc(count * sizeof *order);
    walk->ranks = malloc(count * sizeof *walk->ranks);
    if (!order || !walk->ranks) {
        free(order);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order + 1, count - 1, sizeof *order, heavier, walk->tree->nodes);
    for (uint32_t i = 0; i < count; i++)
        walk->ranks[order[i]] = i;
    while (low < high) { /* `low` nodes have room, and the one above all roots */
        walk->shown = low + (high - low + 1) / 2;
        if (lines_of(walk) <= max)
            low = walk->shown;
        else
            high = walk->shown - 1;
    }
    walk->shown = low > 1 ? low : 2;
    free(order);
    return true;
}

/* The heaviest first; a caller, which has a lower number, before a callee that has as much. */
static int heavier(const void *left, const void *right, void *nodes)
{
    const struct tree_node *a = (struct tree_node *)nodes + *(const uint32_t *)left;
    const struct tree_node *b = (struct tree_node *)nodes + *(const uint32_t *)right;
    int64_t one = a->value < 0 ? -a->value : a->value, other = b->value < 0 ? -b->value : b->value;
    if (one != other)
        return one > other ? -1 : 1;
    return a < b ? -1 : a > b;
}

static size_t lines_of(const struct walk *walk)
{
    size_t lines = rest_of(walk, 0).line;
    for (uint32_t i = 1; i < walk->tree->count; i++)
        if (walk->ranks[i] < walk->shown)
            lines += 1 + rest_of(walk, i).line;
    return lines;
}

static unsigned numbers_width(const struct style *style)
{
    return VALUE_WIDTH + SHARE_WIDTH + 2 + (has_bars(style) ? BAR_WIDTH + 2 : 0);
}

/* Columns before the names; bars are the first to go. */
static bool has_bars(const struct style *style)
{
    return style->width >= 70;
}

static struct rest rest_of(const struct walk *walk, uint32_t parent)
{
    const struct tree_node *nodes = walk->tree->nodes;
    struct rest rest = {.count = nodes[parent].hidden, .value = nodes[parent].hidden_value};
    for (uint32_t i = nodes[parent].first; i != 0; i = nodes[i].next) {
        if (walk->ranks[i] < walk->shown)
            continue;
        rest.count++;
        rest.value += (double)nodes[i].value;
        rest.full = true;
    }
    rest.line = rest.count > 0 && (rest.full || rest.value >= walk->min);
    return rest;
}

/* The children of a node, and theirs. An only child stands right below its caller. */
static void node_text(struct walk *walk, uint32_t parent, const char *prefix, unsigned level)
{
    enum { LEVELS_MAX = 2000 }; /* each takes a call and 320 bytes of names: 1 MB of the stack */
    const struct tree_node *nodes = walk->tree->nodes;
    struct rest rest = rest_of(walk, parent);
    size_t lines = rest.line;
    char own[PREFIX_SIZE], below[PREFIX_SIZE];
    for (uint32_t i = nodes[parent].first; i != 0; i = nodes[i].next)
        lines += walk->ranks[i] < walk->shown;
    bool several = lines > 1 && parent != 0;
    for (uint32_t i = nodes[parent].first; i != 0; i = nodes[i].next) {
        if (walk->ranks[i] >= walk->shown)
            continue;
        lines--;
        snprintf(own, sizeof own, "%s", prefix);
        snprintf(below, sizeof below, "%s", prefix);
        if (several) {
            prefix_make(walk, own, prefix, lines == 0, true);
            prefix_make(walk, below, prefix, lines == 0, false);
        }
        node_line(walk, &nodes[i], own);
        if (level < LEVELS_MAX)
            node_text(walk, i, below, level + 1);
    }
    if (rest.line) {
        prefix_make(walk, own, prefix, true, true);
        hidden_line(walk, &rest, several ? own : prefix);
    }
}

/* The prefix of a child among several: of its own line, or of those below it. */
static void prefix_make(const struct walk *walk, char *text, const char *prefix, bool last,
                        bool own)
{
    bool utf8 = walk->style->utf8;
    const char *mark = own ? (last ? (utf8 ? "└ " : "` ") : (utf8 ? "├ " : "|-"))
                           : (last ? "  " : (utf8 ? "│ " : "| "));
    unsigned max = walk->style->width / 2 > numbers_width(walk->style) + 8
                       ? INDENT_MAX
                       : (walk->style->width - numbers_width(walk->style)) / 3;
    snprintf(text, PREFIX_SIZE, "%s%s", prefix, style_columns(prefix) < max ? mark : "");
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

static void hidden_line(const struct walk *walk, const struct rest *rest, const char *prefix)
{
    char text[64];
    numbers_print(walk, (int64_t)rest->value);
    style_dim(walk->style, prefix);
    snprintf(text, sizeof text, "%s %zu %s\n", walk->style->utf8 ? "…" : "...", rest->count,
             rest->full ? "more" : "smaller");
    style_dim(walk->style, text);
}
