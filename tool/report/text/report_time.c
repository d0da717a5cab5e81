/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir time`: the heap over time as a graph in the terminal. Where the profile has
 * rows of several moments, the area is divided among the largest sites. The graph is steps: a point
 * holds until the next one. JSON (memoir.time/1) and CSV have the points as recorded.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"

/* Half a screen high; more bands or marks can't be told apart in letters. */
enum { BANDS_MAX = 5, HEIGHT = 12, AXIS = 11, COLUMNS_MAX = 400, MARKS_MAX = 12 };

struct band {
    const char *name; /* NULL: all others */
    uint32_t frame;
    float history[PROFILE_MOMENTS_MAX];
};

struct graph {
    int64_t start_ns, end_ns;
    unsigned columns, bands;
    bool filtered; /* only the sites that fit: the points of the whole heap do not count */
    unsigned moments;
    int64_t moments_ns[PROFILE_MOMENTS_MAX];
    struct band band[BANDS_MAX];
    float all[PROFILE_MOMENTS_MAX]; /* of the view at each moment */
    double live[COLUMNS_MAX], resident[COLUMNS_MAX], part[BANDS_MAX][COLUMNS_MAX];
    double max, resident_max;
};

static const char *const band_colors[BANDS_MAX] = {"34", "33", "35", "36", "37"};
static const char *const band_grounds[BANDS_MAX] = {"44", "43", "45", "46", "47"};
static const char *const eighth_blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

static void put_json(const struct view *view, const struct style *style);
static bool is_inside(const struct view *view, int64_t time_ns);
static void put_csv(const struct view *view, const struct style *style);
static void put_text(const struct view *view, const struct style *style);
static bool graph_make(struct graph *graph, const struct view *view, unsigned width);
static void moments_of(struct graph *graph, const struct profile *profile);
static void bands_of(struct graph *graph, const struct view *view);
static double row_max(const struct view_row *row, unsigned moments);
static void columns_fill(struct graph *graph, const struct profile *profile);
static double column_end(const struct graph *graph, unsigned column);
static double held(const struct graph *graph, const float *values, double time_ns);
static bool is_whole(const struct view *view, const struct graph *graph);
static double peak_bytes(const struct view *view, const struct graph *graph);
static double end_bytes(const struct view *view, const struct graph *graph);
static void put_area(const struct graph *graph, double scale, const struct style *style);
static unsigned row_end(const struct graph *graph, double low, double step);
static void put_border(const struct style *style, const struct graph *graph, unsigned column,
                       double low, double step);
static unsigned band_at(const struct graph *graph, unsigned column, double height);
static double band_end(const struct graph *graph, unsigned column, unsigned band);
static void put_cell(const struct style *style, const struct graph *graph, unsigned band,
                     unsigned eighths);
static void put_axis(const struct view *view, const struct graph *graph, const struct style *style);
static unsigned column_at(const struct graph *graph, int64_t time_ns);
static void put_legend(const struct view *view, const struct graph *graph, bool resident_drawn,
                       const struct style *style);
static size_t moments_alike(const struct profile *profile, size_t moment);

void report_time(const struct view *view, const struct style *style)
{
    if (style->format == STYLE_JSON)
        put_json(view, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, style);
    else
        put_text(view, style);
}

static void put_json(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    const struct profile_point *points = profile->points.items;
    const struct profile_moment *moments = profile->moments.items;
    size_t count = 0;
    struct view_row *rows = profile->samples.history ? view_rows(view, false, &count) : NULL;
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.time/1");
    json_number(&json, "duration_ns", profile->duration_ns);
    json_number(&json, "peak_time_ns", profile->peak_time_ns);
    json_array(&json, "points");
    for (size_t i = 0; i < profile->points.count; i++) {
        if (!is_inside(view, points[i].time_ns))
            continue;
        json_object(&json, NULL);
        json_number(&json, "time_ns", points[i].time_ns);
        json_number(&json, "live_bytes", (int64_t)points[i].live_bytes);
        json_number(&json, "allocated_bytes", (int64_t)points[i].allocated_bytes);
        json_number(&json, "allocated_objects", (int64_t)points[i].allocated_objects);
        json_number(&json, "resident_bytes", (int64_t)points[i].resident_bytes);
        json_end(&json);
    }
    json_end(&json);
    json_array(&json, "moments");
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (!is_inside(view, moments[i].time_ns))
            continue;
        json_object(&json, NULL);
        json_number(&json, "time_ns", moments[i].time_ns);
        json_number(&json, "live_bytes", (int64_t)moments[i].live_bytes);
        json_text(&json, "name", profile_text(profile, moments[i].name));
        json_flag(&json, "rows", moments[i].rows);
        json_end(&json);
    }
    json_end(&json);
    json_array(&json, "sites");
    for (size_t i = 0; i < count && i < (style->rows > 0 ? style->rows : 20); i++) {
        json_object(&json, NULL);
        question_json(&json, view, rows[i].frame);
        json_array(&json, "live_bytes");
        for (unsigned k = 0; k < profile->history_moments && k < PROFILE_MOMENTS_MAX; k++)
            json_real(&json, NULL, rows[i].history[k]);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
    free(rows);
}

/* In the part of the run that is shown. */
static bool is_inside(const struct view *view, int64_t time_ns)
{
    return time_ns >= view->options.since_ns &&
           (view->options.until_ns == 0 || time_ns <= view->options.until_ns);
}

static void put_csv(const struct view *view, const struct style *style)
{
    const struct profile_point *points = view->profile->points.items;
    fputs("seconds,live_bytes,allocated_bytes,allocated_objects,resident_bytes\n", style->out);
    for (size_t i = 0; i < view->profile->points.count; i++)
        if (is_inside(view, points[i].time_ns))
            fprintf(style->out, "%.3f,%llu,%llu,%llu,%llu\n", (double)points[i].time_ns / 1e9,
                    (unsigned long long)points[i].live_bytes,
                    (unsigned long long)points[i].allocated_bytes,
                    (unsigned long long)points[i].allocated_objects,
                    (unsigned long long)points[i].resident_bytes);
}

static void put_text(const struct view *view, const struct style *style)
{
    struct graph *graph = malloc(sizeof *graph);
    char peak[32], end[32], time[32];
    if (!graph) {
        shortage_note();
        return;
    }
    if (!graph_make(graph, view, style->width)) {
        fprintf(style->out, "%s: %s\n", style->name ? style->name : "?",
                graph->filtered
                    ? "filters need sites at several moments, which this profile does not "
                      "have"
                : graph->start_ns > 0 || view->options.until_ns > 0
                    ? "nothing was recorded in this part of the run"
                : view->profile->moments.count > 1
                    ? "all moments of this profile lie within one millisecond; --json lists them"
                    : "this profile has a single moment; captures (memoir run) have more, if "
                      "the program ran long enough");
        free(graph);
        return;
    }
    unsigned top = 0;
    for (unsigned i = 0; i < graph->columns; i++)
        if (graph->live[i] > graph->live[top])
            top = i;
    int64_t peak_ns = view->profile->peak_time_ns > 0 && is_whole(view, graph)
                          ? view->profile->peak_time_ns
                          : (int64_t)column_end(graph, top);
    fprintf(style->out, "%s    live heap   peak %s at %s   end %s\n",
            style->name ? style->name : "?", style_value(peak, peak_bytes(view, graph), UNIT_BYTES),
            peak_ns < 1000000 ? "the start" : style_time(time, peak_ns),
            style_value(end, end_bytes(view, graph), UNIT_BYTES));
    bool resident = graph->resident_max > 0 && graph->resident_max <= 3 * graph->max;
    put_area(graph, resident ? fmax(graph->max, graph->resident_max) : graph->max, style);
    put_axis(view, graph, style);
    put_legend(view, graph, resident, style);
    free(graph);
}

static bool graph_make(struct graph *graph, const struct view *view, unsigned width)
{
    const struct profile *profile = view->profile;
    const struct profile_point *points = profile->points.items;
    memset(graph, 0, sizeof *graph);
    graph->end_ns = profile->duration_ns;
    graph->filtered = view->total.value != view->whole.value;
    if (profile->points.count > 0 && points[profile->points.count - 1].time_ns > graph->end_ns)
        graph->end_ns = points[profile->points.count - 1].time_ns;
    moments_of(graph, profile);
    bands_of(graph, view);
    graph->start_ns = view->options.since_ns;
    if (view->options.until_ns > 0)
        graph->end_ns = view->options.until_ns;
    graph->columns = width > AXIS + 22 ? width - AXIS - 2 : 20;
    if (graph->columns > COLUMNS_MAX)
        graph->columns = COLUMNS_MAX;
    if (graph->end_ns <= graph->start_ns || (profile->points.count < 2 && graph->moments < 2) ||
        (graph->filtered && graph->moments < 2))
        return false;
    columns_fill(graph, profile);
    return graph->max > 0;
}

static void moments_of(struct graph *graph, const struct profile *profile)
{
    const struct profile_moment *moments = profile->moments.items;
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (moments[i].time_ns > graph->end_ns)
            graph->end_ns = moments[i].time_ns;
        if (moments[i].rows && graph->moments < profile->history_moments &&
            graph->moments < PROFILE_MOMENTS_MAX && profile->samples.history)
            graph->moments_ns[graph->moments++] = moments[i].time_ns;
    }
}

/* The sites that were largest at any moment. */
static void bands_of(struct graph *graph, const struct view *view)
{
    size_t count = 0;
    struct view_row *rows = graph->moments >= 2 ? view_rows(view, false, &count) : NULL;
    if (!rows)
        return;
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < graph->moments; k++)
            graph->all[k] += rows[i].history[k];
    while (graph->bands + 1 < BANDS_MAX) {
        struct view_row *best = NULL;
        for (size_t i = 0; i < count; i++)
            if (row_max(&rows[i], graph->moments) > 0 &&
                (!best || row_max(&rows[i], graph->moments) > row_max(best, graph->moments)))
                best = &rows[i];
        if (!best)
            break;
        struct band *band = &graph->band[graph->bands++];
        band->name = view->frames[best->frame].name;
        band->frame = best->frame;
        memcpy(band->history, best->history, sizeof band->history);
        memset(best->history, 0, sizeof best->history);
    }
    free(rows);
}

static double row_max(const struct view_row *row, unsigned moments)
{
    double max = 0;
    for (unsigned i = 0; i < moments; i++)
        max = fmax(max, row->history[i]);
    return max;
}

/* The largest value in each column, of its points and of the one before, which held until then. */
static void columns_fill(struct graph *graph, const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    size_t at = 0;
    double live = 0, resident = 0;
    for (unsigned i = 0; i < graph->columns; i++) {
        double end = column_end(graph, i), highest = live;
        for (; at < profile->points.count && (double)points[at].time_ns <= end; at++) {
            live = (double)points[at].live_bytes;
            highest = points[at].time_ns >= graph->start_ns ? fmax(highest, live) : live;
            if (points[at].resident_bytes > 0)
                resident = (double)points[at].resident_bytes;
        }
        if (graph->filtered || profile->points.count == 0)
            graph->live[i] = held(graph, graph->all, end);
        else
            graph->live[i] = highest;
        graph->resident[i] = resident;
        double sum = 0;
        for (unsigned k = 0; k < graph->bands; k++) {
            graph->part[k][i] = held(graph, graph->band[k].history, end);
            sum += graph->part[k][i];
        }
        for (unsigned k = 0; k < graph->bands && sum > graph->live[i]; k++)
            graph->part[k][i] *= graph->live[i] / sum;
        graph->max = fmax(graph->max, graph->live[i]);
        graph->resident_max = fmax(graph->resident_max, resident);
    }
}

/* The time at the right of a column. */
static double column_end(const struct graph *graph, unsigned column)
{
    double start = (double)graph->start_ns, length = (double)graph->end_ns - start;
    return start + length * (column + 1) / fmax(graph->columns, 1);
}

/* As at the last moment up to a time; nothing is known of the time before the first one. */
static double held(const struct graph *graph, const float *values, double time_ns)
{
    double value = 0;
    for (unsigned i = 0; i < graph->moments && (double)graph->moments_ns[i] <= time_ns; i++)
        value = (double)values[i];
    return value;
}

/* All of the heap, and all of the run. */
static bool is_whole(const struct view *view, const struct graph *graph)
{
    return !graph->filtered && view->options.since_ns == 0 && view->options.until_ns == 0;
}

/* What the profile counted at its peak: between two points there may have been more. */
static double peak_bytes(const struct view *view, const struct graph *graph)
{
    const struct profile_samples *samples = &view->profile->samples;
    int type = profile_type_named(view->profile, TYPE_PEAK_SPACE);
    double sum = 0;
    for (size_t i = 0; type >= 0 && i < samples->count; i++)
        sum += (double)samples->values[type][i];
    return is_whole(view, graph) ? fmax(graph->max, sum) : graph->max;
}

/* The last column has the largest value of its time, not the last. */
static double end_bytes(const struct view *view, const struct graph *graph)
{
    const struct profile_point *points = view->profile->points.items;
    size_t count = view->profile->points.count;
    return is_whole(view, graph) && count > 0 ? (double)points[count - 1].live_bytes
                                              : graph->live[graph->columns - 1];
}

static void put_area(const struct graph *graph, double scale, const struct style *style)
{
    char text[32];
    for (unsigned row = HEIGHT; row-- > 0;) {
        double low = scale * row / HEIGHT, step = scale / HEIGHT;
        bool named = row == HEIGHT - 1 || row == HEIGHT / 2;
        question_pad(style, named ? style_value(text, low + step, UNIT_BYTES) : "", AXIS - 1);
        fputs(question_glyph(style, named ? "┤" : "│", "|"), style->out);
        for (unsigned i = 0; i < row_end(graph, low, step); i++) {
            double filled = (graph->live[i] - low) / step;
            unsigned eighths = filled >= 1 ? 8 : filled <= 0 ? 0 : (unsigned)(filled * 8 + 0.5);
            bool resident = graph->resident[i] > low && graph->resident[i] <= low + step;
            if (resident && eighths < 4)
                fputs(question_glyph(style, "╌", "~"), style->out);
            else if (eighths == 8)
                put_border(style, graph, i, low, step);
            else
                put_cell(style, graph, band_at(graph, i, low + step * eighths / 16), eighths);
        }
        fputs("\n", style->out);
    }
}

/* Behind the last column of a row that has anything in it. */
static unsigned row_end(const struct graph *graph, double low, double step)
{
    unsigned end = graph->columns;
    while (end > 0 && graph->live[end - 1] - low < step / 16 &&
           !(graph->resident[end - 1] > low && graph->resident[end - 1] <= low + step))
        end--;
    return end;
}

/* A whole cell, in which one band may end: then the next is its ground. */
static void put_border(const struct style *style, const struct graph *graph, unsigned column,
                       double low, double step)
{
    unsigned lower = band_at(graph, column, low),
             upper = band_at(graph, column, low + step * 7 / 8);
    double part = (band_end(graph, column, lower) - low) / step * 8;
    if (!style->color || !style->utf8 || lower == upper || graph->bands == 0 || part < 0.5 ||
        part >= 7.5) {
        put_cell(style, graph, band_at(graph, column, low + step / 2), 8);
        return;
    }
    char code[8];
    snprintf(code, sizeof code, "%s;%s", band_colors[lower], band_grounds[upper]);
    style_paint(style, code, eighth_blocks[(unsigned)(part + 0.5)]);
}

/* The band at a height of a column; graph->bands is the one of all others. */
static unsigned band_at(const struct graph *graph, unsigned column, double height)
{
    double sum = 0;
    for (unsigned k = 0; k < graph->bands; k++) {
        sum += graph->part[k][column];
        if (height < sum)
            return k;
    }
    return graph->bands;
}

/* Where the band ends. */
static double band_end(const struct graph *graph, unsigned column, unsigned band)
{
    double sum = 0;
    for (unsigned k = 0; k <= band && k < graph->bands; k++)
        sum += graph->part[k][column];
    return sum;
}

/* How a band looks: its colour, and its fill where there are no colours. */
static void put_cell(const struct style *style, const struct graph *graph, unsigned band,
                     unsigned eighths)
{
    static const char *const fills[BANDS_MAX] = {"█", "▓", "▒", "░", "·"};
    static const char *const letters[BANDS_MAX] = {"#", "=", "+", "-", "."};
    const char *cell;
    bool single = graph->bands == 0;
    if (eighths == 0)
        cell = " ";
    else if (!style->utf8)
        cell = eighths >= 4 ? letters[single ? 0 : band] : " ";
    else if (style->color || single)
        cell = eighth_blocks[eighths];
    else
        cell = eighths >= 4 ? fills[band] : " ";
    style_paint(style, eighths > 0 ? band_colors[single ? 0 : band] : "", cell);
}

/* The line of time: the peak, marks and snapshots on it; a small tick where a snapshot was due. */
static void put_axis(const struct view *view, const struct graph *graph, const struct style *style)
{
    const struct profile_moment *moments = view->profile->moments.items;
    unsigned peak = 0;
    enum { NOTHING, SNAPSHOT, EVENT } at[COLUMNS_MAX] = {NOTHING};
    char text[32], start[32] = "0";
    for (size_t i = 0; i < view->profile->moments.count; i++)
        if (is_inside(view, moments[i].time_ns)) {
            unsigned column = column_at(graph, moments[i].time_ns);
            at[column] = moments[i].clock && at[column] != EVENT ? SNAPSHOT : EVENT;
        }
    for (unsigned i = 0; i < graph->columns; i++)
        if (graph->live[i] > graph->live[peak])
            peak = i;
    question_pad(style, "0", AXIS - 1);
    fputs(question_glyph(style, "┼", "+"), style->out);
    for (unsigned i = 0; i < graph->columns; i++)
        fputs(i == peak           ? question_glyph(style, "▲", "^")
              : at[i] == EVENT    ? question_glyph(style, "◆", "o")
              : at[i] == SNAPSHOT ? question_glyph(style, "┴", "'")
                                  : question_glyph(style, "─", "-"),
              style->out);
    fputs("\n", style->out);
    style_time(text, graph->end_ns);
    if (graph->start_ns > 0)
        style_time(start, graph->start_ns);
    unsigned used = style_columns(text) + style_columns(start);
    fprintf(style->out, "%*s%s%*s%s\n", AXIS, "", start,
            graph->columns > used ? (int)(graph->columns - used) : 1, "", text);
}

static unsigned column_at(const struct graph *graph, int64_t time_ns)
{
    double length = (double)(graph->end_ns - graph->start_ns);
    double at = (double)(time_ns - graph->start_ns) / length * graph->columns;
    return at < 0 ? 0 : at >= graph->columns ? graph->columns - 1 : (unsigned)at;
}

static void put_legend(const struct view *view, const struct graph *graph, bool resident_drawn,
                       const struct style *style)
{
    const struct profile_moment *moments = view->profile->moments.items;
    char text[32];
    unsigned told = 0;
    for (unsigned k = 0; k < graph->bands; k++) {
        double max = 0;
        for (unsigned i = 0; i < graph->moments; i++)
            max = fmax(max, graph->band[k].history[i]);
        fputs("  ", style->out);
        put_cell(style, graph, k, 8);
        fprintf(style->out, " %9s  ", style_value(text, max, UNIT_BYTES));
        question_site(view, style, graph->band[k].frame, 15);
        fputs("\n", style->out);
    }
    if (graph->bands > 0) {
        fputs("  ", style->out);
        put_cell(style, graph, graph->bands, 8);
        fputs("            all others; sites at their largest\n", style->out);
    }
    if (graph->resident_max > 0)
        fprintf(style->out, "  %s %9s  resident memory of the process%s\n",
                question_glyph(style, resident_drawn ? "╌" : " ", resident_drawn ? "~" : " "),
                style_value(text, graph->resident_max, UNIT_BYTES),
                resident_drawn ? "" : ", beyond the scale of this graph");
    for (size_t i = 0; i < view->profile->moments.count && told < MARKS_MAX; i++) {
        char name[100];
        if (!is_inside(view, moments[i].time_ns))
            continue;
        size_t more = moments_alike(view->profile, i);
        snprintf(name, sizeof name, "%s", profile_text(view->profile, moments[i].name));
        if (name[0] == '\0' || more == SIZE_MAX)
            continue;
        style_clean(name);
        fprintf(style->out, "  %s %9s  %s", question_glyph(style, "◆", "o"),
                style_time(text, moments[i].time_ns), name);
        if (more > 0)
            fprintf(style->out, ", and %zu more", more);
        fputs("\n", style->out);
        told++;
    }
}

/* How many later moments have the name of this one; SIZE_MAX: an earlier one has it, or it is only
 * the clock that took it. */
static size_t moments_alike(const struct profile *profile, size_t moment)
{
    const struct profile_moment *moments = profile->moments.items;
    size_t more = 0;
    if (moments[moment].clock)
        return SIZE_MAX;
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (i < moment && moments[i].name == moments[moment].name)
            return SIZE_MAX;
        more += i > moment && moments[i].name == moments[moment].name;
    }
    return more;
}
