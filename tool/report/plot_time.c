/* SPDX-License-Identifier: MIT */
/*
 * Memory over time: what the largest sites held, stacked, at the snapshots of a capture; over it
 * the size of the heap and of the process, which are known more often. The peak has a flag, with
 * the number that `memoir peak` has; marks of the program have lines.
 */
#include "tool/report/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/svg.h"

enum { TIME_SITES = SVG_FAMILIES - 1 };

struct time_band {
    const struct view_row *row;
    double values[PROFILE_MOMENTS_MOST];
    double most;
};

/* What the curves show at one pixel. */
struct time_point {
    int64_t time_ns;
    double x, live, resident;
};

struct time_plot {
    const struct view *view;
    struct plot plot;
    struct time_point *course;
    size_t course_count;
    bool exact;                          /* every block was recorded */
    double resident_most;                /* the memory of the process; 0: not known */
    bool resident;                       /* it is drawn: the heap can be seen beside it */
    int64_t times[PROFILE_MOMENTS_MOST]; /* of the columns of history */
    unsigned columns;
    int64_t last_ns;
    struct time_band bands[TIME_SITES]; /* the largest first; grey is what none of them has */
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

/* The sites that were largest at any moment. */
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
    for (size_t i = 0; i < count && all[i].most > 0 && time->bands_count < TIME_SITES; i++)
        time->bands[time->bands_count++] = all[i];
    free(all);
    return true;
}

/* What was recorded of the peak itself: between two points there may have been more. */
static void time_peak(struct time_plot *time)
{
    const struct profile *profile = time->view->profile;
    int type = profile_type_named(profile, "peak_space");
    double sum = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += (double)profile->samples.values[type][i];
    if (sum <= 0)
        return;
    time->peak = sum;
    if (profile->peak_time_ns > 0)
        time->peak_ns = profile->peak_time_ns;
    time->most = fmax(time->most, sum);
    time->last_ns = time->peak_ns > time->last_ns ? time->peak_ns : time->last_ns;
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
        time->most = fmax(time->most, live);
        time->resident_most = fmax(time->resident_most, (double)point->resident_bytes);
        if (live > time->peak) {
            time->peak = live;
            time->peak_ns = point->time_ns;
        }
    }
    time_peak(time);
    for (unsigned column = 0; column < time->columns; column++) {
        double sum = 0;
        for (unsigned band = 0; band < time->bands_count; band++)
            sum += time->bands[band].values[column];
        time->most = fmax(time->most, sum);
    }
    time->resident = time->resident_most > 0 && time->resident_most <= 3 * time->most;
    if (time->resident)
        time->most = fmax(time->most, time->resident_most);
}

static void time_band_name(const struct time_plot *time, const struct time_band *band,
                           char text[SVG_NAME_MOST * 2], unsigned columns)
{
    char name[SVG_NAME_MOST], place[160] = "";
    const struct view_frame *frame = &time->view->frames[band->row->frame];
    if (frame->file[0] != '\0')
        snprintf(place, sizeof place, frame->line != 0 ? " \xc2\xb7 %.120s:%u" : " \xc2\xb7 %.120s",
                 svg_base_name(frame->file), frame->line);
    unsigned used = svg_columns(place);
    snprintf(text, SVG_NAME_MOST * 2, "%s%s",
             svg_name(name, frame->name, columns > used + 8 ? columns - used : 8), place);
}

/* The points of the curves: of those at one pixel the highest, and the peak among them. */
static bool time_course(struct time_plot *time)
{
    const struct profile_list *list = &time->view->profile->points;
    const struct profile_point *points = list->items;
    bool peak = time->peak > 0; /* is still to come */
    time->course = calloc(list->count + 1, sizeof *time->course);
    for (size_t i = 0; time->course != NULL && i < list->count;) {
        struct time_point point = {.time_ns = time->peak_ns, .live = time->peak};
        if (peak && time->peak_ns <= points[i].time_ns) {
            peak = false;
        } else {
            point.time_ns = points[i].time_ns;
            point.live = (double)points[i].live_bytes;
            point.resident = (double)points[i++].resident_bytes;
        }
        point.x = time_x(time, point.time_ns);
        struct time_point *last = time->course + time->course_count - (time->course_count > 0);
        if (time->course_count > 0 && point.x - last->x < 0.3) {
            last->live = fmax(last->live, point.live);
            last->resident = fmax(last->resident, point.resident);
        } else {
            time->course[time->course_count++] = point;
        }
    }
    return time->course != NULL;
}

/* The heap as one area: grey if there are sites to tell apart, which lie over it. */
static void time_area(const struct time_plot *time)
{
    FILE *file = time->plot.file;
    bool under = time->bands_count > 0;
    if (time->course_count == 0)
        return;
    if (under)
        fprintf(file, "<clipPath id=\"heap%u\">", time->plot.width);
    for (unsigned i = 0, copies = under ? 2 : 1; i < copies; i++) {
        fprintf(file, "<path class=\"c%u1\" d=\"M%.1f,%.1f", under ? SVG_FAMILIES - 1 : 0,
                time->course[0].x, time->plot.bottom);
        for (size_t k = 0; k < time->course_count; k++)
            fprintf(file, "L%.1f,%.1f", time->course[k].x,
                    plot_y(&time->plot, time->course[k].live));
        fprintf(file, "L%.1f,%.1fZ\"/>%s\n", time->course[time->course_count - 1].x,
                time->plot.bottom, under && i == 0 ? "</clipPath>" : "");
    }
}

static void time_areas(const struct time_plot *time)
{
    FILE *file = time->plot.file;
    double below[PROFILE_MOMENTS_MOST] = {0};
    fputs("<g", file);
    if (time->course_count > 0)
        fprintf(file, " clip-path=\"url(#heap%u)\"", time->plot.width);
    fputs(">\n", file);
    for (unsigned i = 0; i < time->bands_count && time->columns > 0; i++) {
        const struct time_band *band = &time->bands[i];
        char text[SVG_NAME_MOST * 2], value[32];
        time_band_name(time, band, text, 120);
        fprintf(file, "<path class=\"c%u1\" d=\"M%.1f,%.1f", i, time->plot.left, time->plot.bottom);
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
    fputs("</g>\n", file);
}

static const char *time_curve_name(const struct time_plot *time, bool resident)
{
    return resident      ? "resident memory of the process"
           : time->exact ? "live heap, every block counted"
                         : "live heap, estimated from samples";
}

static void time_curve(const struct time_plot *time, bool resident)
{
    FILE *file = time->plot.file;
    bool open = false;
    for (size_t i = 0; i < time->course_count; i++) {
        const struct time_point *point = &time->course[i];
        if (resident && point->resident <= 0)
            continue;
        if (!open)
            fprintf(file, "<path class=\"curve %s\" d=\"M", resident ? "rss" : "live");
        fprintf(file, "%s%.1f,%.1f", open ? "L" : "", point->x,
                plot_y(&time->plot, resident ? point->resident : point->live));
        open = true;
    }
    if (open)
        fprintf(file, "\"><title>%s</title></path>\n", time_curve_name(time, resident));
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
            "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text "
            "class=\"hd small halo%s\" x=\"%.1f\" y=\"%.1f\">peak %s at %s</text>\n",
            x, y, right ? " end" : "", right ? x - 8 : x + 8, fmax(y - 9, time->plot.top - 6),
            style_value(value, time->peak, "bytes"), style_time(when, time->peak_ns));
}

static unsigned time_legend_columns(const struct plot *plot)
{
    return plot->width < 700 ? 1 : 2;
}

/* Two columns under the axis, or one: curves first, then the sites from the top band down. */
static void time_legend(const struct time_plot *time, unsigned y)
{
    FILE *file = time->plot.file;
    unsigned columns = time_legend_columns(&time->plot), entry = 0;
    char value[32];
    double room = (time->plot.width - 32.0) / columns;
    for (unsigned curve = 0; curve < 2; curve++) {
        if (curve == 0 ? time->course_count == 0 : time->resident_most <= 0)
            continue;
        double x = 16 + (entry % columns) * room;
        unsigned at = y + entry / columns * 19;
        if (curve == 0 || time->resident)
            fprintf(file, "<line class=\"curve %s\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%u\" y2=\"%u\"/>",
                    curve == 0 ? "live" : "rss", x, x + 14, at + 7, at + 7);
        fprintf(file, "<text class=\"sub\" x=\"%.0f\" y=\"%u\">%s", x + 22, at + 11,
                time_curve_name(time, curve == 1));
        if (curve == 1 && !time->resident)
            fprintf(file, ": up to %s, too much for this plot",
                    style_value(value, time->resident_most, "bytes"));
        fputs("</text>\n", file);
        entry++;
    }
    entry += entry % columns;
    for (unsigned i = 0; i < time->bands_count; i++, entry++) {
        double x = 16 + (entry % columns) * room;
        unsigned at = y + entry / columns * 19;
        char text[SVG_NAME_MOST * 2];
        time_band_name(time, &time->bands[i], text, (unsigned)((room - 150) / 6.7));
        fprintf(file,
                "<rect class=\"c%u1\" x=\"%.0f\" y=\"%u\" width=\"14\" height=\"14\"/>"
                "<text class=\"sub end\" x=\"%.0f\" y=\"%u\">up to %s</text>"
                "<text class=\"tx name\" x=\"%.0f\" y=\"%u\">",
                i, x, at, x + 112, at + 11, style_value(value, time->bands[i].most, "bytes"),
                x + 120, at + 11);
        svg_text(file, text);
        fputs("</text>\n", file);
    }
    if (time->bands_count > 0)
        fprintf(file,
                "<rect class=\"c%u1\" x=\"%.0f\" y=\"%u\" width=\"14\" height=\"14\"/>"
                "<text class=\"sub\" x=\"%.0f\" y=\"%u\">all others, and what came and went "
                "between snapshots</text>\n",
                SVG_FAMILIES - 1, 16 + (entry % columns) * room, y + entry / columns * 19,
                38 + (entry % columns) * room, y + entry / columns * 19 + 11);
}

/* How high the legend is. */
static unsigned time_legend_height(const struct time_plot *time)
{
    unsigned columns = time_legend_columns(&time->plot);
    unsigned curves = (time->course_count > 0) + (time->resident_most > 0);
    unsigned areas = time->bands_count + (time->bands_count > 0);
    return 19 * ((curves + columns - 1) / columns + (areas + columns - 1) / columns);
}

void picture_time(const struct view *view, const struct picture_options *options, FILE *file)
{
    struct time_plot time = {.view = view, .plot = {.file = file, .inside = options->inside}};
    size_t count = 0;
    struct view_row *rows = view_rows(view, false, &count);
    const struct profile *profile = view->profile;
    char subtitle[128], peak[32], length[32];
    time.exact = profile->period <= 1 && profile->samples.weights == NULL;
    time.columns = profile->history_moments < PROFILE_MOMENTS_MOST ? profile->history_moments
                                                                   : PROFILE_MOMENTS_MOST;
    if (rows != NULL && profile->samples.history != NULL && time.columns > 1)
        time_bands(&time, rows, count);
    time.columns = 0;
    time_survey(&time);
    time.plot.width = plot_width(options, 1200);
    time.plot.left = 84;
    time.plot.right = time.plot.width - 24.0;
    time.plot.top = 76;
    time.plot.bottom = options->inside ? 310 : 390;
    time_course(&time);
    time.plot.height = (unsigned)time.plot.bottom + 52 + time_legend_height(&time);
    snprintf(subtitle, sizeof subtitle, "memory over time \xc2\xb7 %s at most \xc2\xb7 %s",
             style_value(peak, time.peak > 0 ? time.peak : time.most, "bytes"),
             style_time(length, time.last_ns));
    plot_start(&time.plot, options->title != NULL ? options->title : "Memory over time", subtitle,
               true);
    if (time.last_ns > 0 && time.most > 0) {
        plot_y_axis(&time.plot, time.most, "bytes");
        time_area(&time);
        time_areas(&time);
        plot_time_axis(&time.plot, time.last_ns);
        if (time.resident)
            time_curve(&time, true);
        time_curve(&time, false);
        time_marks(&time);
        if (options->inside) /* for page.js, which reads values off the curves */
            fprintf(file,
                    "<g class=\"scale\" data-left=\"%.1f\" data-right=\"%.1f\" data-top=\"%.1f\" "
                    "data-bottom=\"%.1f\" data-most=\"%.0f\" data-last=\"%" PRId64 "\"></g>\n",
                    time.plot.left, time.plot.right, time.plot.top, time.plot.bottom,
                    time.plot.y_most, time.last_ns);
        time_legend(&time, (unsigned)time.plot.bottom + 34);
    } else {
        plot_nothing(&time.plot, "This profile is of one moment: it has no course of memory. A "
                                 "capture (memoir run) has one.");
    }
    plot_end(&time.plot);
    free(time.course);
    free(rows);
}
