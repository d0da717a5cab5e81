/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a page: for each metric the rows of its table and the nodes of its flame graph, as
 * the data of page.js. Profiles may have millions of stacks and a page is mailed: the smallest rows
 * and boxes are left out, and the page says so.
 */
#include "tool/report/page/html_sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/report/picture/picture.h"
#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

enum {
    /* Rows and boxes of a page bound its size; what is left out is less than a pixel wide, or
     * too far down to be read. */
    ROWS_BY_SELF = 300,
    ROWS_BY_TOTAL = 150,
    BOXES_ALL = 16000, /* of all metrics, */
    BOXES_MIN = 3000,  /* and of each */
    SHORT_US = 1024,   /* a border of the buckets of lifetimes */
};

bool html_text_start(struct html_text *text)
{
    text->file = open_memstream(&text->text, &text->size);
    return text->file != NULL;
}

bool html_text_end(struct html_text *text)
{
    bool ok = text->file && !ferror(text->file);
    ok = text->file && fclose(text->file) == 0 && ok;
    text->file = NULL;
    return ok;
}

void html_error(FILE *file, const struct view_value *value)
{
    double error = view_error_share(value->value, value->variance);
    if (error > 0.02)
        fprintf(file, " <span class=\"err\">\xc2\xb1%.0f&#160;%%</span>", 100 * error);
}

void html_site(FILE *file, const struct view_frame *frame)
{
    char text[SVG_NAME_MAX];
    fputs("<span class=\"fn\">", file);
    svg_text(file, svg_name(text, frame->name, 160));
    fputs("</span>", file);
    if (frame->file[0] != '\0') {
        fputs(" <span class=\"at\">", file);
        svg_text(file, frame->file);
        if (frame->line != 0)
            fprintf(file, ":%u", frame->line);
        fputs("</span>", file);
    } else if (frame->module[0] != '\0' && !(frame->flags & FRAME_UNNAMED)) {
        fputs(" <span class=\"at\">", file);
        svg_text(file, name_base(frame->module));
        fputs("</span>", file);
    }
}

static void put_whole(struct json *json, double number)
{
    static const double max = 9e18;
    json_number(json, NULL, fabs(number) <= max ? (int64_t)rint(number) : 0);
}

/* [frame, self, total, objects, error in per mille, trend...] */
static void row_json(struct html *html, struct json *json, const struct view *view,
                     const struct view_row *row)
{
    unsigned moments = view->profile->history_moments;
    json_array(json, NULL);
    json_number(json, NULL, flame_data_frame(&html->data, &view->frames[row->frame]));
    json_number(json, NULL, row->self.value);
    json_number(json, NULL, row->total.value);
    json_number(json, NULL, row->self.objects);
    put_whole(json, 1000 * view_error_share(row->self.value, row->self.variance));
    for (unsigned i = 0; moments > 1 && i < moments && i < PROFILE_MOMENTS_MAX; i++)
        put_whole(json, (double)row->history[i]);
    json_end(json);
}

static void row_plain(FILE *file, const struct view *view, const struct view_row *row)
{
    char value[32], share[16];
    const struct view_value *const both[] = {&row->self, &row->total};
    fputs("<tr>", file);
    for (size_t i = 0; i < 2; i++) {
        fprintf(file, "<td class=\"num\">%s",
                style_value(value, (double)both[i]->value, view->unit));
        if (i == 0)
            html_error(file, both[i]);
        fprintf(file, "</td><td class=\"num share\">%s</td>",
                style_share(share, (double)both[i]->value, (double)view->total.value));
    }
    double objects = (double)row->self.objects;
    fprintf(file, "<td class=\"num more\">%s</td>",
            objects != 0 ? style_value(value, objects, UNIT_COUNT) : "");
    fprintf(file, "<td class=\"num more\">%s</td><td class=\"site\">",
            objects != 0 ? style_value(value, round((double)row->self.value / objects), view->unit)
                         : "");
    html_site(file, &view->frames[row->frame]);
    fputs("</td></tr>\n", file);
}

/* The largest by self, and those that are among the largest by total only. */
static bool rows_plain(struct html *html, struct html_metric *metric, const struct view *view)
{
    size_t count = 0, by_total = 0;
    struct view_row *rows = view_rows(view, false, &count);
    struct view_row *totals = view_rows(view, true, &by_total);
    bool *there = calloc(view->frames_count + 1, sizeof *there);
    struct json json;
    bool ok = rows && totals && there;
    json_start(&json, metric->rows.file, false);
    json_array(&json, NULL);
    for (size_t i = 0; ok && i < count && i < ROWS_BY_SELF && rows[i].self.value != 0; i++) {
        there[rows[i].frame] = true;
        row_json(html, &json, view, &rows[i]);
        if (metric->plain.file && i < HTML_PLAIN_ROWS)
            row_plain(metric->plain.file, view, &rows[i]);
        metric->rows_shown++;
    }
    for (size_t i = 0; ok && i < by_total && i < ROWS_BY_TOTAL && totals[i].total.value; i++) {
        if (there[totals[i].frame])
            continue;
        row_json(html, &json, view, &totals[i]);
        metric->rows_shown++;
    }
    json_end(&json);
    for (size_t i = 0; ok && i < count; i++)
        metric->rows_count += rows[i].self.value != 0 || rows[i].total.value != 0;
    free(rows);
    free(totals);
    free(there);
    return ok;
}

static const char *const verdict_marks[] = {
    [DIFF_SAME] = "\xc2\xb7",     [DIFF_NOISE] = "\xc2\xb7",   [DIFF_MORE] = "\xe2\x96\xb2",
    [DIFF_LESS] = "\xe2\x96\xbc", [DIFF_NEW] = "\xe2\x97\x8f", [DIFF_GONE] = "\xe2\x97\x8b",
};

static void change_plain(FILE *file, const struct view *view, const struct diff_row *row)
{
    char value[32];
    double numbers[] = {(double)row->value.base, (double)row->value.value, row->change};
    fprintf(file, "<tr class=\"%s\">", diff_word(row->verdict));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        fprintf(file, "<td class=\"num\">%s%s</td>", i == 2 && numbers[i] > 0 ? "+" : "",
                style_value(value, numbers[i], view->unit));
    fprintf(file, "<td></td><td>%s</td><td class=\"site\">", verdict_marks[row->verdict]);
    html_site(file, &view->frames[row->frame]);
    fputs("</td></tr>\n", file);
}

/* [frame, frame before, before, after, noise, verdict] */
static bool rows_compared(struct html *html, struct html_metric *metric, const struct view *view)
{
    struct diff diff;
    struct json json;
    if (!diff_make(&diff, view, false))
        return false;
    json_start(&json, metric->rows.file, false);
    json_array(&json, NULL);
    for (size_t i = 0; i < diff.count && i < ROWS_BY_SELF; i++) {
        const struct diff_row *row = &diff.rows[i];
        json_array(&json, NULL);
        json_number(&json, NULL, flame_data_frame(&html->data, &view->frames[row->frame]));
        json_number(&json, NULL, flame_data_frame(&html->data, &view->frames[row->base_frame]));
        json_number(&json, NULL, row->value.base);
        json_number(&json, NULL, row->value.value);
        put_whole(&json, row->noise);
        json_text(&json, NULL, diff_word(row->verdict));
        json_end(&json);
        if (metric->plain.file && i < HTML_PLAIN_ROWS)
            change_plain(metric->plain.file, view, row);
        metric->rows_shown++;
    }
    json_end(&json);
    metric->rows_count = diff.count;
    metric->noise = diff.noise;
    diff_free(&diff);
    return true;
}

static bool metric_rows(struct html *html, struct html_metric *metric,
                        const struct view_options *options, bool is_short)
{
    struct view view = {0};
    struct view_options own = *options;
    bool first = html->metrics_count == 0;
    own.rows_only = true;
    if (!html->options->by_given)
        own.by = profile_type_timed(html->profile, own.type) ? VIEW_FUNCTION : VIEW_SITE;
    if (!view_make(&view, html->profile, &own, html->error))
        return false;
    metric->title = is_short ? "short-lived blocks" : table_metric(&view);
    metric->unit = view.unit;
    metric->unit_name = view.unit_name;
    metric->things = table_objects(&view);
    metric->by = view_by_word(own.by);
    metric->total = view.total;
    if (first)
        html->unnamed = view.unnamed;
    metric->compared = view.base != NULL;
    bool ok = html_text_start(&metric->rows) && (!first || html_text_start(&metric->plain)) &&
              (view.base ? rows_compared(html, metric, &view) : rows_plain(html, metric, &view));
    ok = html_text_end(&metric->rows) && (!first || html_text_end(&metric->plain)) && ok;
    view_free(&view);
    return ok;
}

static bool metric_flame(struct html *html, struct html_metric *metric,
                         const struct view_options *options, uint32_t boxes)
{
    struct view view = {0};
    struct view_options own = *options;
    struct flame_tree tree = {0};
    if (!html->options->by_given)
        own.by = VIEW_FUNCTION;
    if (!html->options->frames_given)
        own.frames = VIEW_LEAF;
    if (!view_make(&view, html->profile, &own, html->error))
        return false;
    bool ok =
        flame_tree_make(&tree, &view, false, 1.0 / 40000, boxes) && html_text_start(&metric->nodes);
    if (ok) {
        metric->compared = tree.compared;
        flame_data_add(&html->data, &view, &tree);
        flame_data_nodes(&html->data, &view, &tree, metric->nodes.file);
        ok = html_text_end(&metric->nodes) && !html->data.failed;
    }
    flame_tree_free(&tree);
    view_free(&view);
    return ok;
}

/* Metrics of heaps, in the order of the page; the last is of blocks that ended early. */
static const char *const heap_types[] = {
    TYPE_PEAK_SPACE, TYPE_INUSE_SPACE,     TYPE_ALLOC_SPACE,   TYPE_CPU,          TYPE_WALL,
    TYPE_DELAY,      TYPE_CONDITION_DELAY, TYPE_ALLOC_OBJECTS, TYPE_ALLOC_OBJECTS};

/* Samples are told beside the time that they stand for. */
static bool is_double(const struct profile *profile, unsigned type)
{
    return strcmp(profile_text(profile, profile->type[type].name), TYPE_SAMPLES) == 0 &&
           profile_type_partner(profile, type) >= 0;
}

/* Which columns: the wanted one first, and it alone if it is of blocks of some age. */
static unsigned metrics_choose(const struct html *html, int types[HTML_METRICS_MAX],
                               bool is_short[HTML_METRICS_MAX])
{
    const struct profile *profile = html->profile;
    unsigned count = 0;
    bool heap = profile_type_named(profile, TYPE_INUSE_SPACE) >= 0 ||
                profile_type_named(profile, TYPE_ALLOC_SPACE) >= 0;
    types[count] = (int)html->view.type;
    is_short[count++] = html->view.age_max_us == SHORT_US;
    unsigned max = heap ? COUNT_OF(heap_types) : profile->types;
    if (!is_short[0] && (html->view.age_min_us > 0 || html->view.age_max_us > 0))
        return count;
    for (unsigned i = 0; i < max && count < HTML_METRICS_MAX; i++) {
        int type = heap ? profile_type_named(profile, heap_types[i]) : (int)i;
        bool brief = heap && i + 1 == COUNT_OF(heap_types);
        const char *name = type < 0 ? "" : profile_text(profile, profile->type[type].name);
        bool known = type >= 0 && !is_double(profile, (unsigned)type) &&
                     (!brief || (profile->samples.lives && !html->view.base)) &&
                     (!html->view.base || profile_type_named(html->view.base, name) >= 0);
        for (unsigned k = 0; k < count; k++)
            known = known && (types[k] != type || is_short[k] != brief);
        if (!known)
            continue;
        types[count] = type;
        is_short[count++] = brief;
    }
    return count;
}

bool html_metrics_make(struct html *html)
{
    int types[HTML_METRICS_MAX];
    bool is_short[HTML_METRICS_MAX];
    unsigned count = metrics_choose(html, types, is_short);
    uint32_t boxes = BOXES_ALL / count > BOXES_MIN ? BOXES_ALL / count : BOXES_MIN;
    for (unsigned i = 0; i < count; i++) {
        struct html_metric *metric = &html->metrics[html->metrics_count];
        struct view_options options = html->view;
        options.type = (unsigned)types[i];
        options.age_max_us = is_short[i] ? SHORT_US : i == 0 ? options.age_max_us : 0;
        snprintf(metric->key, sizeof metric->key, "%s",
                 is_short[i] ? HTML_SHORT_LIVED
                             : profile_text(html->profile, html->profile->type[types[i]].name));
        if (!metric_rows(html, metric, &options, is_short[i]) ||
            !metric_flame(html, metric, &options, boxes))
            return false;
        if (i > 0 && metric->total.value == 0 && metric->total.base == 0) {
            free(metric->rows.text);
            free(metric->nodes.text);
            memset(metric, 0, sizeof *metric);
            continue;
        }
        html->metrics_count++;
    }
    return true;
}
