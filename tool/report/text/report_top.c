/* SPDX-License-Identifier: MIT */
/*
 * `memoir top`: the sites with the most, one line each. Columns are chosen by what there is
 * (objects, trend, CPU beside memory) and by the width: those that help least go first. Sites that
 * are not shown are one line at the end, so that shares add up.
 */
#include "tool/report/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/resident.h"

/* Unless --rows says it: behind the tenth row, only those with 1 % or more. */
enum { ROWS_MAX = 25, ROWS_MIN = 10 };

/* Which columns there is room and data for. */
struct columns {
    bool self, total, error, objects, beside;
    unsigned trend, site, name; /* widths; 0: none */
};

enum {
    VALUE_WIDTH = 10,
    SHARE_WIDTH = 7,
    TREND_MAX = 8,
    TREND_NARROW = 6,
    OBJECTS_WIDTH = 9,
    AVERAGE_WIDTH = 10,
    BESIDE_WIDTH = 11,
    SITE_MIN = 36,
    SITE_NARROW = 20, /* before the less important of self and total goes */
};

static size_t rows_shown(const struct view *view, const struct style *style,
                         const struct view_row *rows, size_t count);
static void top_json(const struct view *view, const struct style *style,
                     const struct view_row *rows, const struct beside *beside, size_t shown,
                     size_t count);
static void json_value(struct json *json, const struct view *view, const char *name,
                       const struct view_value *value);
static void top_csv(const struct view *view, const struct style *style, const struct view_row *rows,
                    const struct beside *beside, size_t shown);
static void top_text(const struct view *view, const struct style *style,
                     const struct view_row *rows, const struct beside *beside, size_t shown,
                     size_t count);
static struct columns columns_choose(const struct view *view, const struct style *style,
                                     const struct view_row *rows, bool beside, size_t shown);
static unsigned trend_width(const struct view *view, unsigned room);
static void top_line(const struct view *view, const struct style *style, const struct view_row *row,
                     const struct beside *beside, const struct columns *columns);
static size_t rows_filled(const struct view_row *rows, size_t shown, size_t count);

void report_top(const struct view *view, const struct style *style)
{
    size_t count;
    if (view->base && style->format == STYLE_TEXT) { /* which is what one wants to see then */
        report_diff(view, style);
        return;
    }
    struct beside beside = {0};
    if (!beside_make(&beside, view))
        shortage_note();
    struct view_row *rows = view_rows(view, style->by_total, &count);
    size_t shown = rows ? rows_shown(view, style, rows, count) : 0;
    if (style->format == STYLE_JSON)
        top_json(view, style, rows, &beside, shown, count);
    else if (style->format == STYLE_CSV)
        top_csv(view, style, rows, &beside, shown);
    else
        top_text(view, style, rows, &beside, shown, rows_filled(rows, shown, count));
    free(rows);
    beside_free(&beside);
}

/* How many rows are worth a line: those above one per cent, but some in any case. */
static size_t rows_shown(const struct view *view, const struct style *style,
                         const struct view_row *rows, size_t count)
{
    size_t shown = 0;
    if (style->rows > 0)
        return count < style->rows ? count : style->rows;
    if (style->format != STYLE_TEXT)
        return count;
    while (shown < count && shown < ROWS_MAX) {
        const struct view_value *value = style->by_total ? &rows[shown].total : &rows[shown].self;
        if (shown >= ROWS_MIN && table_share(view, value->value) < 0.01)
            break;
        if (value->value == 0 && !view->base)
            break;
        shown++;
    }
    return shown;
}

static void top_json(const struct view *view, const struct style *style,
                     const struct view_row *rows, const struct beside *beside, size_t shown,
                     size_t count)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.top/1");
    json_number(&json, "rows_count", (int64_t)count);
    json_array(&json, "rows");
    for (size_t i = 0; i < shown; i++) {
        json_object(&json, NULL);
        table_json_frame(&json, view, rows[i].frame);
        json_value(&json, view, "self", &rows[i].self);
        json_value(&json, view, "total", &rows[i].total);
        if (beside->there)
            json_number(&json, beside_name(beside),
                        beside_value(beside, &view->frames[rows[i].frame]));
        json_number(&json, "stacks", (int64_t)rows[i].stacks);
        if (view->profile->history_moments > 1) {
            json_array(&json, "trend");
            for (unsigned k = 0; k < view->profile->history_moments; k++)
                json_real(&json, NULL, (double)rows[i].history[k]);
            json_end(&json);
        }
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

static void json_value(struct json *json, const struct view *view, const char *name,
                       const struct view_value *value)
{
    char key[64];
    json_number(json, name, value->value);
    snprintf(key, sizeof key, "%s_objects", name);
    json_number(json, key, value->objects);
    snprintf(key, sizeof key, "%s_error", name);
    json_real(json, key, view_error_share(value->value, value->variance));
    if (view->base) {
        snprintf(key, sizeof key, "%s_base", name);
        json_number(json, key, value->base);
    }
}

static void top_csv(const struct view *view, const struct style *style, const struct view_row *rows,
                    const struct beside *beside, size_t shown)
{
    fputs("self,self_objects,self_error,total,total_objects,total_error,name,file,line,module",
          style->out);
    fprintf(style->out, "%s%s\n", beside->there ? "," : "",
            beside->there ? beside_name(beside) : "");
    for (size_t i = 0; i < shown; i++) {
        const struct view_frame *frame = &view->frames[rows[i].frame];
        const struct view_value *self = &rows[i].self, *total = &rows[i].total;
        fprintf(style->out, "%ld,%ld,%.6g,%ld,%ld,%.6g,", (long)self->value, (long)self->objects,
                view_error_share(self->value, self->variance), (long)total->value,
                (long)total->objects, view_error_share(total->value, total->variance));
        table_csv_text(style, frame->name);
        putc(',', style->out);
        table_csv_text(style, frame->file);
        fprintf(style->out, ",%u,", frame->line);
        table_csv_text(style, frame->module);
        if (beside->there)
            fprintf(style->out, ",%ld", (long)beside_value(beside, frame));
        putc('\n', style->out);
    }
}

static void top_text(const struct view *view, const struct style *style,
                     const struct view_row *rows, const struct beside *beside, size_t shown,
                     size_t count)
{
    char share[16];
    struct columns columns = columns_choose(view, style, rows, beside->there, shown);
    table_head(view, style);
    if (count == 0 && view->timed)
        fputs("No sample: it did not run, or not for long enough.\n", style->out);
    if (count == 0)
        return;
    if (columns.self)
        fprintf(style->out, "%*s%*s", VALUE_WIDTH, "self",
                (int)(SHARE_WIDTH + (columns.error ? table_error_width(style) : 0)), "");
    if (columns.total)
        fprintf(style->out, "%*s%*s", VALUE_WIDTH, "total", SHARE_WIDTH, "");
    if (columns.beside)
        fprintf(style->out, "%*s", BESIDE_WIDTH,
                beside->view.timed ? beside_name(beside) : "allocated");
    if (columns.trend)
        fprintf(style->out, "  %-*s", (int)columns.trend, columns.trend < 5 ? "" : "trend");
    if (columns.objects)
        fprintf(style->out, "%*s", OBJECTS_WIDTH, table_objects(view));
    if (columns.objects && !view->timed)
        fprintf(style->out, "%*s", AVERAGE_WIDTH, "avg");
    fprintf(style->out, "  %s\n", view_by_word(view->options.by));
    double left = (double)view->total.value;
    for (size_t i = 0; i < shown; i++) {
        top_line(view, style, &rows[i], beside, &columns);
        left -= (double)rows[i].self.value;
    }
    if (count > shown)
        fprintf(style->out, "%*s  %zu more (%s)\n", VALUE_WIDTH, style->utf8 ? "  …" : "...",
                count - shown, style_share(share, left, (double)view->total.value));
    table_foot(view, style);
    if (!view->timed && !view->waited && !view->profile->ended)
        resident_note(view->profile, style);
}

static struct columns columns_choose(const struct view *view, const struct style *style,
                                     const struct view_row *rows, bool beside, size_t shown)
{
    struct columns columns = {.beside = beside};
    unsigned used = 2 * (VALUE_WIDTH + SHARE_WIDTH) + 2 + (beside ? BESIDE_WIDTH : 0);
    for (size_t i = 0; i < shown; i++) {
        columns.objects = columns.objects || rows[i].self.objects != 0;
        columns.error =
            columns.error || view_error_share(rows[i].self.value, rows[i].self.variance) > 0.02;
    }
    used += columns.error ? table_error_width(style) : 0;
    unsigned objects = OBJECTS_WIDTH + (view->timed ? 0 : AVERAGE_WIDTH);
    unsigned min = used + SITE_MIN + (columns.objects ? objects : 0);
    columns.trend = min < style->width ? trend_width(view, style->width - min) : 0;
    if (min > style->width)
        columns.objects = false;
    used += (columns.trend ? columns.trend + 2 : 0) + (columns.objects ? objects : 0);
    columns.self = columns.total = true;
    if (used + SITE_NARROW > style->width && columns.error) {
        columns.error = false;
        used -= table_error_width(style);
    }
    if (used + SITE_NARROW > style->width) {
        *(style->by_total ? &columns.self : &columns.total) = false;
        used -= VALUE_WIDTH + SHARE_WIDTH;
    }
    if (used + SITE_NARROW > style->width && beside) {
        columns.beside = false;
        used -= BESIDE_WIDTH;
    }
    columns.site = used + 16 < style->width ? style->width - used : 16;
    columns.name = table_name_width(view, rows, shown, table_name_max(style, columns.site));
    return columns;
}

/* In so much room, with what is between it and the next. */
static unsigned trend_width(const struct view *view, unsigned room)
{
    unsigned moments = view->profile->history_moments, max = moments > 1 ? moments : 0;
    if (view->timed || view->waited) /* the history is that of memory */
        return 0;
    max = max < TREND_MAX ? max : TREND_MAX;
    if (max + 2 > room && max > TREND_NARROW)
        max = TREND_NARROW;
    return max + 2 > room ? 0 : max;
}

static void top_line(const struct view *view, const struct style *style, const struct view_row *row,
                     const struct beside *beside, const struct columns *columns)
{
    char text[32], trend[128];
    if (columns->self) {
        table_value(view, style, row->self.value, VALUE_WIDTH);
        if (columns->error)
            table_error(style, &row->self);
        table_value_share(view, style, row->self.value, SHARE_WIDTH);
    }
    if (columns->total) {
        table_value(view, style, row->total.value, VALUE_WIDTH);
        table_value_share(view, style, row->total.value, SHARE_WIDTH);
    }
    if (columns->beside) {
        int64_t value = beside_value(beside, &view->frames[row->frame]);
        fputs(" ", style->out);
        if (value == 0)
            fprintf(style->out, "%*s", BESIDE_WIDTH - 1, "");
        else
            table_value(&beside->view, style, value, BESIDE_WIDTH - 1);
    }
    if (columns->trend) {
        style_trend(style, trend, sizeof trend, row->history, view->profile->history_moments);
        fprintf(style->out, "  %s",
                table_squeeze(trend, view->profile->history_moments, columns->trend));
    }
    if (columns->objects) {
        const struct view_value *self = &row->self;
        double average = self->objects ? (double)self->value / (double)self->objects : NAN;
        fprintf(style->out, "%*s", OBJECTS_WIDTH,
                style_value(text, (double)self->objects, UNIT_COUNT));
        if (!view->timed) /* which all have the same */
            fprintf(style->out, "%*s", AVERAGE_WIDTH,
                    style_value(text, round(average), view->unit));
    }
    fputs("  ", style->out);
    table_site(view, style, row->frame, columns->name, columns->site);
    putc('\n', style->out);
    if (style->verbose)
        table_folded(view, style, row->frame);
}

/* Those that have something, in columns where others have, too. */
static size_t rows_filled(const struct view_row *rows, size_t shown, size_t count)
{
    size_t filled = 0;
    for (size_t i = 0; rows != NULL && i < count; i++)
        filled += rows[i].total.value != 0 || rows[i].total.base != 0;
    return filled > shown ? filled : shown;
}
