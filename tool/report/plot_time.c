/* SPDX-License-Identifier: MIT */
/*
 * Memory over time: what the largest sites held, stacked, at the snapshots of a capture; over it
 * the exact size of the heap and of the process, which are known more often. The peak has a flag,
 * marks of the program have lines.
 */
#include "tool/report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/svg.h"

enum { TIME_SITES = SVG_FAMILIES - 1 };

struct time_band {
    const struct view_row *row; /* NULL: all others */
    double values[PROFILE_MOMENTS_MOST];
    double most;
};

struct time_plot {
    const struct view *view;
    struct plot plot;
    int64_t times[PROFILE_MOMENTS_MOST]; /* of the columns of history */
    unsigned columns;
    int64_t last_ns;
    struct time_band bands[TIME_SITES + 1]; /* the largest first, others last */
    unsigned bands_count;
    double most; /* of all that is drawn */
    int64_t peak_ns;
    double peak;
};

static double time_x(const struct time_plot *time, int64_t ns)
{
    double share = time->last_ns > 0 ? (double)ns / (double)time->last_ns : 0;
    return time->plot.left + fmin(fmax(share, 0), 1) * (time->plot.right - time->plot.left);
}

static int time_band_compare(const void *left, const void *right)
{
    const struct time_band *a = left, *b = right;
    return a->most > b->most ? -1 : a->most < b->most;
}

/* The sites that were largest at any moment, and the sum of the others. */
static bool time_bands(struct time_plot *time, struct view_row *rows, size_t count)
{
    struct time_band *all = calloc(count + 1, sizeof *all);
    if (all == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        all[i].row = &rows[i];
        for (unsigned column = 0; column < time->columns; column++) {
            all[i].values[column] = fmax(0, (double)rows[i].history[column]);
            all[i].most = fmax(all[i].most, all[i].values[column]);
        }
    }
    qsort(all, count, sizeof *all, time_band_compare);
    struct time_band others = {0};
    for (size_t i = 0; i < count && all[i].most > 0; i++) {
        if (time->bands_count < TIME_SITES) {
            time->bands[time->bands_count++] = all[i];
            continue;
        }
        for (unsigned column = 0; column < time->columns; column++) {
            others.values[column] += all[i].values[column];
            others.most = fmax(others.most, others.values[column]);
        }
    }
    if (others.most > 0)
        time->bands[time->bands_count++] = others;
    free(all);
    return true;
}

static void time_survey(struct time_plot *time)
{
    const struct profile *profile = time->view->profile;
    const struct profile_moment *moments = profile->moments.items;
    const struct profile_point *points = profile->points.items;
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (moments[i].rows && time->columns < PROFILE_MOMENTS_MOST &&
            time->columns < profile->history_moments)
            time->times[time->columns++] = moments[i].time_ns;
        time->last_ns = moments[i].time_ns > time->last_ns ? moments[i].time_ns : time->last_ns;
    }
    for (size_t i = 0; i < profile->points.count; i++) {
        const struct profile_point *point = &points[i];
        double live = (double)point->live_bytes;
        time->last_ns = point->time_ns > time->last_ns ? point->time_ns : time->last_ns;
        time->most = fmax(time->most, fmax(live, (double)point->resident_bytes));
        if (live > time->peak) {
            time->peak = live;
            time->peak_ns = point->time_ns;
        }
    }
    for (unsigned column = 0; column < time->columns; column++) {
        double sum = 0;
        for (unsigned band = 0; band < time->bands_count; band++)
            sum += time->bands[band].values[column];
        time->most = fmax(time->most, sum);
    }
}

static void time_band_name(const struct time_plot *time, const struct time_band *band,
                           char text[SVG_NAME_MOST * 2], unsigned columns)
{
    char name[SVG_NAME_MOST], place[160] = "";
    if (band->row == NULL) {
        snprintf(text, SVG_NAME_MOST * 2, "all others");
        return;
    }
    const struct view_frame *frame = &time->view->frames[band->row->frame];
    if (frame->file[0] != '\0')
        snprintf(place, sizeof place, frame->line != 0 ? " \xc2\xb7 %.120s:%u" : " \xc2\xb7 %.120s",
                 svg_base_name(frame->file), frame->line);
    unsigned used = svg_columns(place);
    snprintf(text, SVG_NAME_MOST * 2, "%s%s",
             svg_name(name, frame->name, columns > used + 8 ? columns - used : 8), place);
}

/* Where there are no sites to tell apart, the heap is one area. */
static void time_area(const struct time_plot *time)
{
    const struct profile_point *points = time->view->profile->points.items;
    size_t count = time->view->profile->points.count;
    FILE *file = time->plot.file;
    if (count == 0)
        return;
    fprintf(file, "<path class=\"c01\" d=\"M%.1f,%.1f", time_x(time, points[0].time_ns),
            time->plot.bottom);
    double last_x = -1;
    for (size_t i = 0; i < count; i++) {
        double x = time_x(time, points[i].time_ns);
        if (x - last_x >= 0.3 || i + 1 == count)
            fprintf(file, "L%.1f,%.1f", last_x = x,
                    plot_y(&time->plot, (double)points[i].live_bytes));
    }
    fprintf(file, "L%.1f,%.1fZ\"/>\n", last_x, time->plot.bottom);
}

static void time_areas(const struct time_plot *time)
{
    FILE *file = time->plot.file;
    double below[PROFILE_MOMENTS_MOST] = {0};
    for (unsigned i = 0; i < time->bands_count && time->columns > 0; i++) {
        const struct time_band *band = &time->bands[i];
        char text[SVG_NAME_MOST * 2], value[32];
        time_band_name(time, band, text, 120);
        fprintf(file, "<path class=\"c%u1\" d=\"M%.1f,%.1f", band->row ? i : SVG_FAMILIES - 1,
                time->plot.left, time->plot.bottom);
        for (unsigned k = 0; k < time->columns; k++)
            fprintf(file, "L%.1f,%.1f", time_x(time, time->times[k]),
                    plot_y(&time->plot, below[k] + band->values[k]));
        for (unsigned k = time->columns; k-- > 0;)
            fprintf(file, "L%.1f,%.1f", time_x(time, time->times[k]),
                    plot_y(&time->plot, below[k]));
        fputs("Z\"><title>", file);
        svg_text(file, text);
        fprintf(file, ", up to %s</title></path>\n", style_value(value, band->most, "bytes"));
        for (unsigned k = 0; k < time->columns; k++)
            below[k] += band->values[k];
    }
}

static void time_curve(const struct time_plot *time, bool resident)
{
    const struct profile *profile = time->view->profile;
    const struct profile_point *points = profile->points.items;
    FILE *file = time->plot.file;
    bool open = false;
    double last_x = -1;
    for (size_t i = 0; i < profile->points.count; i++) {
        double value = (double)(resident ? points[i].resident_bytes : points[i].live_bytes);
        double x = time_x(time, points[i].time_ns);
        if ((resident && value == 0) || (open && x - last_x < 0.3 && i + 1 < profile->points.count))
            continue;
        if (!open)
            fprintf(file, "<path class=\"curve %s\" d=\"M", resident ? "rss" : "live");
        fprintf(file, "%s%.1f,%.1f", open ? "L" : "", x, plot_y(&time->plot, value));
        open = true;
        last_x = x;
    }
    if (open)
        fprintf(file, "\"><title>%s</title></path>\n",
                resident ? "resident memory of the process" : "live heap, exact");
}

static void time_marks(const struct time_plot *time)
{
    const struct profile *profile = time->view->profile;
    const struct profile_moment *moments = profile->moments.items;
    FILE *file = time->plot.file;
    double last_x = -100;
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (moments[i].rows || moments[i].name == 0)
            continue;
        double x = time_x(time, moments[i].time_ns);
        if (x - last_x < 8 || x > time->plot.right - 8) /* that it ended is seen without */
            continue;
        fprintf(file,
                "<line class=\"mark\" stroke-dasharray=\"2 3\" x1=\"%.1f\" x2=\"%.1f\" "
                "y1=\"%.0f\" y2=\"%.0f\"/>",
                x, x, time->plot.top, time->plot.bottom);
        if (x - last_x > 90) {
            char text[SVG_NAME_MOST];
            bool left = x > time->plot.right - 90;
            fprintf(file, "<text class=\"sub halo%s\" x=\"%.1f\" y=\"%.0f\">", left ? " end" : "",
                    left ? x - 4 : x + 4, time->plot.top + 11);
            svg_text(file, svg_name(text, profile_text(profile, moments[i].name), 14));
            fputs("</text>", file);
        }
        last_x = x;
    }
    if (time->peak <= 0)
        return;
    char value[32], when[32];
    double x = time_x(time, time->peak_ns), y = plot_y(&time->plot, time->peak);
    bool right = x > (time->plot.left + time->plot.right) / 2;
    fprintf(file,
            "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text class=\"hd halo%s\" "
            "style=\"font-size:12px\" x=\"%.1f\" y=\"%.1f\">peak %s at %s</text>\n",
            x, y, right ? " end" : "", right ? x - 8 : x + 8, fmax(y - 9, time->plot.top - 6),
            style_value(value, time->peak, "bytes"), style_time(when, time->peak_ns));
}

/* Two columns under the axis: curves first, then the sites from the top band down. */
static void time_legend(const struct time_plot *time, unsigned y)
{
    FILE *file = time->plot.file;
    double half = (time->plot.width - 32.0) / 2;
    bool resident = false, live = time->view->profile->points.count > 0;
    const struct profile_point *points = time->view->profile->points.items;
    for (size_t i = 0; i < time->view->profile->points.count; i++)
        resident = resident || points[i].resident_bytes > 0;
    unsigned entry = 0;
    for (unsigned curve = 0; curve < 2; curve++) {
        if (curve == 0 ? !live : !resident)
            continue;
        double x = 16 + (entry % 2) * half;
        fprintf(file,
                "<line class=\"curve %s\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%u\" y2=\"%u\"/>"
                "<text class=\"sub\" x=\"%.0f\" y=\"%u\">%s</text>\n",
                curve == 0 ? "live" : "rss", x, x + 14, y + entry / 2 * 19 + 7,
                y + entry / 2 * 19 + 7, x + 22, y + entry / 2 * 19 + 11,
                curve == 0 ? "live heap, exact" : "resident memory of the process");
        entry++;
    }
    entry += entry % 2;
    for (unsigned i = 0; i < time->bands_count; i++, entry++) {
        double x = 16 + (entry % 2) * half;
        unsigned at = y + entry / 2 * 19;
        char text[SVG_NAME_MOST * 2], value[32];
        time_band_name(time, &time->bands[i], text, (unsigned)((half - 130) / 6.7));
        double last = time->columns > 0 ? time->bands[i].values[time->columns - 1] : 0;
        fprintf(file,
                "<rect class=\"c%u1\" x=\"%.0f\" y=\"%u\" width=\"14\" height=\"14\"/>"
                "<text class=\"sub end\" x=\"%.0f\" y=\"%u\">%s</text>"
                "<text class=\"tx name\" x=\"%.0f\" y=\"%u\">",
                time->bands[i].row ? i : SVG_FAMILIES - 1, x, at, x + 92, at + 11,
                style_value(value, last, "bytes"), x + 100, at + 11);
        svg_text(file, text);
        fputs("</text>\n", file);
    }
}

void picture_time(const struct view *view, const struct picture_options *options, FILE *file)
{
    struct time_plot time = {.view = view, .plot = {.file = file}};
    size_t count = 0;
    struct view_row *rows = view_rows(view, false, &count);
    const struct profile *profile = view->profile;
    char subtitle[128], peak[32], length[32];
    time.columns = profile->history_moments < PROFILE_MOMENTS_MOST ? profile->history_moments
                                                                   : PROFILE_MOMENTS_MOST;
    if (rows != NULL && profile->samples.history != NULL && time.columns > 1)
        time_bands(&time, rows, count);
    time.columns = 0;
    time_survey(&time);
    unsigned lines = 1 + (time.bands_count + 1) / 2;
    time.plot.width = options->width == 0 ? 1200 : options->width < 500 ? 500 : options->width;
    time.plot.height = 430 + lines * 19 + 12;
    time.plot.left = 84;
    time.plot.right = time.plot.width - 24.0;
    time.plot.top = 76;
    time.plot.bottom = 390;
    snprintf(subtitle, sizeof subtitle, "memory over time \xc2\xb7 %s at most \xc2\xb7 %s",
             style_value(peak, time.peak > 0 ? time.peak : time.most, "bytes"),
             style_time(length, time.last_ns));
    plot_start(&time.plot, options->title != NULL ? options->title : "Memory over time", subtitle,
               true);
    if (time.last_ns > 0 && time.most > 0) {
        plot_y_axis(&time.plot, time.most, "bytes");
        if (time.bands_count > 0)
            time_areas(&time);
        else
            time_area(&time);
        plot_time_axis(&time.plot, time.last_ns);
        time_curve(&time, true);
        time_curve(&time, false);
        time_marks(&time);
        time_legend(&time, 424);
    } else {
        plot_nothing(&time.plot, "This profile is of one moment: it has no course of memory. A "
                                 "capture (memoir run) has one.");
    }
    plot_end(&time.plot);
    free(rows);
}
