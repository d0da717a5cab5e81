/* SPDX-License-Identifier: MIT */
/*
 * `memoir peek`: each function that fits, its callers above it and its callees below. A name that
 * fits exactly is preferred to others that contain it. Callers and callees are the edges of the
 * view, summed once for all functions that are shown.
 */
#include "tool/report/text/text.h"

#include <stdlib.h>
#include <string.h>

#include "tool/report/report.h"

enum { FRAMES_MAX = 10, NEIGHBOURS_MAX = 8, VALUE_WIDTH = 10, SHARE_WIDTH = 7 };

struct peek {
    const struct view *view;
    const struct style *style;
    const struct view_edge *edges;
    size_t edges_count;
    struct json json;
};

static void exact_first(const struct view *view, const char *name, struct view_row *rows,
                        size_t count);
static size_t rows_choose(const struct peek *peek, const struct pattern *wanted,
                          struct view_row *rows, size_t *count, bool *chosen);
static bool frame_fits(const struct pattern *wanted, const struct view_frame *frame);
static void rows_print(struct peek *peek, const struct view_row *rows, size_t count, size_t found);
static void frame_print(struct peek *peek, const struct view_row *row);
static void neighbours_json(struct peek *peek, const struct view_row *row, bool callers);
static void neighbours_print(const struct peek *peek, const struct view_row *row, bool callers);
static void line_print(const struct peek *peek, const struct view_value *value, double whole,
                       const char *mark, uint32_t frame);

bool report_peek(const struct view *view, const char *pattern, const struct style *style,
                 struct view_error *error)
{
    struct pattern wanted;
    struct peek peek = {.view = view, .style = style};
    size_t count = 0;
    if (!pattern_make(&wanted, "the word", pattern, error)) {
        pattern_free(&wanted);
        return false;
    }
    struct view_row *rows = view_rows(view, true, &count);
    bool *chosen = calloc(view->frames_count + 1, sizeof *chosen);
    if (rows)
        exact_first(view, pattern, rows, count);
    size_t found = rows && chosen ? rows_choose(&peek, &wanted, rows, &count, chosen) : 0;
    struct view_edge *edges = found > 0 ? view_edges(view, chosen, &peek.edges_count) : NULL;
    peek.edges = edges;
    if (edges)
        rows_print(&peek, rows, count, found);
    else if (rows && chosen && found == 0)
        view_refuse_function(error, pattern);
    else
        view_out_of_memory(error);
    pattern_free(&wanted);
    free(chosen);
    free(rows);
    free(edges);
    return edges != NULL;
}

/* Rows whose name is the word come before those that have it in theirs: a whole name was meant. */
static void exact_first(const struct view *view, const char *name, struct view_row *rows,
                        size_t count)
{
    size_t exact = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(view->frames[rows[i].frame].name, name) != 0)
            continue;
        struct view_row row = rows[i];
        memmove(&rows[exact + 1], &rows[exact], (i - exact) * sizeof *rows);
        rows[exact++] = row;
    }
}

/* The rows that fit come first in *rows, as many of them as are shown; answers how many fit. */
static size_t rows_choose(const struct peek *peek, const struct pattern *wanted,
                          struct view_row *rows, size_t *count, bool *chosen)
{
    size_t found = 0, shown = 0;
    for (size_t i = 0; i < *count; i++) {
        if (!frame_fits(wanted, &peek->view->frames[rows[i].frame]))
            continue;
        if (found++ < FRAMES_MAX || peek->style->format == STYLE_JSON) {
            chosen[rows[i].frame] = true;
            rows[shown++] = rows[i];
        }
    }
    *count = shown;
    return found;
}

static bool frame_fits(const struct pattern *wanted, const struct view_frame *frame)
{
    return pattern_fits(wanted, frame->name) || pattern_fits(wanted, frame->file);
}

static void rows_print(struct peek *peek, const struct view_row *rows, size_t count, size_t found)
{
    bool json = peek->style->format == STYLE_JSON;
    if (json) {
        json_start(&peek->json, peek->style->out, true);
        json_object(&peek->json, NULL);
        table_json_head(&peek->json, peek->view, peek->style, "memoir.peek/1");
        json_array(&peek->json, "rows");
    } else {
        table_head(peek->view, peek->style);
    }
    for (size_t i = 0; i < count; i++)
        frame_print(peek, &rows[i]);
    if (json) {
        json_end(&peek->json);
        json_end(&peek->json);
    } else if (found > count) {
        fprintf(peek->style->out, "\n%zu more match\n", found - count);
    }
}

static void frame_print(struct peek *peek, const struct view_row *row)
{
    const struct style *style = peek->style;
    char text[32], share[16], self[80];
    unsigned used = VALUE_WIDTH + SHARE_WIDTH + 4;
    if (style->format == STYLE_JSON) {
        json_object(&peek->json, NULL);
        table_json_frame(&peek->json, peek->view, row->frame);
        json_number(&peek->json, "self", row->self.value);
        json_number(&peek->json, "total", row->total.value);
        neighbours_json(peek, row, true);
        neighbours_json(peek, row, false);
        json_end(&peek->json);
        return;
    }
    putc('\n', style->out);
    neighbours_print(peek, row, true);
    table_value(peek->view, style, row->total.value, VALUE_WIDTH);
    table_value_share(peek->view, style, row->total.value, SHARE_WIDTH);
    fprintf(style->out, "  %s ", style->utf8 ? "▶" : ">");
    snprintf(self, sizeof self, "   self %s, %s",
             style_value(text, (double)row->self.value, peek->view->unit),
             style_share(share, (double)row->self.value, (double)peek->view->total.value));
    bool beside = !style->fits || style->width >= used + 32 + style_columns(self);
    unsigned room = style->width - used - (style->fits && beside ? style_columns(self) : 0);
    table_site(peek->view, style, row->frame, (style->width - used) * 3 / 5, room);
    if (!beside)
        fprintf(style->out, "\n%*s", (int)used - 3, "");
    fprintf(style->out, "%s\n", self);
    neighbours_print(peek, row, false);
}

/* The frame at the other end of an edge; UINT32_MAX: it is none of the row's callers (or callees).
 */
static uint32_t neighbour_of(const struct view_edge *edge, const struct view_row *row, bool callers)
{
    uint32_t mine = callers ? edge->callee : edge->caller;
    return mine != row->frame ? UINT32_MAX : callers ? edge->caller : edge->callee;
}

static void neighbours_json(struct peek *peek, const struct view_row *row, bool callers)
{
    json_array(&peek->json, callers ? "callers" : "callees");
    for (size_t i = 0; i < peek->edges_count; i++) {
        const struct view_edge *edge = &peek->edges[i];
        uint32_t other = neighbour_of(edge, row, callers);
        if (other == UINT32_MAX)
            continue;
        json_object(&peek->json, NULL);
        table_json_frame(&peek->json, peek->view, other);
        json_number(&peek->json, "value", edge->sum.value);
        json_number(&peek->json, "objects", edge->sum.objects);
        json_end(&peek->json);
    }
    json_end(&peek->json);
}

/* The callers (or callees) of a frame; edges are in order of their values. */
static void neighbours_print(const struct peek *peek, const struct view_row *row, bool callers)
{
    const struct style *style = peek->style;
    const char *mark = style->utf8 ? (callers ? "┌" : "└") : (callers ? "," : "`");
    size_t max = style->rows > 0 ? style->rows : NEIGHBOURS_MAX, shown = 0, hidden = 0;
    uint64_t rest = 0;
    for (size_t i = 0; i < peek->edges_count; i++) {
        const struct view_edge *edge = &peek->edges[i];
        uint32_t other = neighbour_of(edge, row, callers);
        if (other == UINT32_MAX)
            continue;
        if (shown++ < max) {
            line_print(peek, &edge->sum, (double)row->total.value, mark, other);
        } else {
            hidden++;
            rest += (uint64_t)edge->sum.value;
        }
    }
    if (hidden > 0) {
        table_value(peek->view, style, (int64_t)rest, VALUE_WIDTH);
        fprintf(style->out, "%*s  %s %zu more\n", SHARE_WIDTH, "", mark, hidden);
    }
}

static void line_print(const struct peek *peek, const struct view_value *value, double whole,
                       const char *mark, uint32_t frame)
{
    const struct style *style = peek->style;
    char share[16];
    unsigned used = VALUE_WIDTH + SHARE_WIDTH + 4;
    table_value(peek->view, style, value->value, VALUE_WIDTH);
    fprintf(style->out, "%*s  %s ", SHARE_WIDTH, style_share(share, (double)value->value, whole),
            mark);
    table_site(peek->view, style, frame, (style->width - used) * 3 / 5, style->width - used);
    putc('\n', style->out);
}
