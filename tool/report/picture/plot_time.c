/* SPDX-License-Identifier: MIT */
/*
 * Memory over time: what the largest sites held, stacked, at the snapshots of a capture; over it
 * the size of the heap and of the process, which are known more often. All curves are steps: a
 * value holds until the next one. The peak has a flag, with the number that `memoir peak` prints;
 * marks of the program have lines. In a comparison the heap of the base is a line, too.
 */
#include "tool/report/picture/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/picture/svg.h"

enum { TIME_SITES = SVG_FAMILIES - 1 };

struct time_band {
    const struct view_row *row;
    double values[PROFILE_MOMENTS_MAX];
    double max;
};

/* What the curves show at one pixel. */
struct time_point {
    int64_t time_ns;
    double x, live, resident; /* the most */
    double live_last;         /* what holds until the next point */
};

/* A profile over time. */
struct time_course {
    struct time_point *points;
    size_t count;
    int64_t peak_ns;
    double peak;
};

struct time_plot {
    const struct view *view;
    struct plot plot;
    struct time_course course, before;  /* before: of the base, if there is one */
    bool exact;                         /* every block was recorded */
    bool counted;                       /* or its total was counted */
    double resident_max;                /* the memory of the process; 0: not known */
    bool resident;                      /* it is drawn: the heap can be seen beside it */
    int64_t times[PROFILE_MOMENTS_MAX]; /* of the columns of history */
    unsigned columns;
    int64_t last_ns;
    struct time_band bands[TIME_SITES]; /* the largest first; grey is what none of them has */
    unsigned bands_count;
    double max; /* of all that is drawn */
};

enum time_curve { CURVE_LIVE, CURVE_BEFORE, CURVE_RESIDENT, CURVES };
static const char *const curve_classes[] = {"live", "was", "rss"};

static bool time_bands(struct time_plot *time, struct view_row *rows, size_t count);
static int time_band_compare(const void *left, const void *right);
static void time_survey(struct time_plot *time);
static void time_peak(struct time_plot *time, const struct profile *profile,
                      struct time_course *course);
static void time_points(const struct time_plot *time, const struct profile *profile,
                        struct time_course *course);
static double time_x(const struct time_plot *time, int64_t ns);
static unsigned time_legend_height(const struct time_plot *time);
static unsigned time_legend_columns(const struct plot *plot);
static void time_curve(const struct time_plot *time, enum time_curve curve);
static void time_step(const struct time_plot *time, double x, double *before, double max,
                      double last);
static const char *time_curve_name(const struct time_plot *time, enum time_curve curve);
static bool time_curve_known(const struct time_plot *time, enum time_curve curve);
static void time_area(const struct time_plot *time);
static void time_areas(const struct time_plot *time);
static void time_band_name(const struct time_plot *time, const struct time_band *band,
                           char text[SVG_NAME_MAX * 2], unsigned columns);
static void time_marks(const struct time_plot *time);
static void time_legend(const struct time_plot *time, unsigned y);

void picture_time(const struct view *view, const struct picture_options *options, FILE *file)
{
    struct time_plot time = {.view = view, .plot = {.file = file, .inside = options->inside}};
    size_t count = 0;
    struct view_row *rows = view_rows(view, false, &count);
    const struct profile *profile = view->profile;
    char subtitle[128], peak[32], length[32];
    time.exact = profile->period <= 1 && profile->samples.weights == NULL;
    time.counted = profile->counted;
    time.columns = profile->history_moments < PROFILE_MOMENTS_MAX ? profile->history_moments
                                                                  : PROFILE_MOMENTS_MAX;
    if (rows != NULL && profile->samples.history != NULL && time.columns > 1)
        time_bands(&time, rows, count);
    time.columns = 0;
    time_survey(&time);
    time.plot.width = plot_width(options, 1200);
    time.plot.left = 84;
    time.plot.right = time.plot.width - 24.0;
    time.plot.top = 76;
    time.plot.bottom = options->inside ? 310 : 390;
    time_points(&time, profile, &time.course);
    if (time.before.peak > 0)
        time_points(&time, view->base, &time.before);
    time.plot.height = (unsigned)time.plot.bottom + 52 + time_legend_height(&time);
    snprintf(subtitle, sizeof subtitle, "memory over time \xc2\xb7 %s at most \xc2\xb7 %s",
             style_value(peak, time.course.peak > 0 ? time.course.peak : time.max, UNIT_BYTES),
             style_time(length, time.last_ns));
    plot_start(&time.plot, options->title != NULL ? options->title : "Memory over time", subtitle,
               true);
    if (time.last_ns > 0 && time.max > 0) {
        plot_y_axis(&time.plot, time.max, UNIT_BYTES);
        time_area(&time);
        time_areas(&time);
        plot_time_axis(&time.plot, time.last_ns);
        if (time.resident)
            time_curve(&time, CURVE_RESIDENT);
        time_curve(&time, CURVE_BEFORE);
        time_curve(&time, CURVE_LIVE);
        time_marks(&time);
        if (options->inside) /* for page.js, which reads values off the curves */
            fprintf(file,
                    "<g class=\"scale\" data-left=\"%.1f\" data-right=\"%.1f\" data-top=\"%.1f\" "
                    "data-bottom=\"%.1f\" data-most=\"%.0f\" data-last=\"%" PRId64 "\"></g>\n",
                    time.plot.left, time.plot.right, time.plot.top, time.plot.bottom,
                    time.plot.y_max, time.last_ns);
        time_legend(&time, (unsigned)time.plot.bottom + 34);
    } else {
        plot_nothing(&time.plot,
                     "This profile has a single moment, so it can't show memory over time. "
                     "A capture (memoir run) can.");
    }
    plot_end(&time.plot);
    free(time.course.points);
    free(time.before.points);
    free(rows);
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
            all[i].max = fmax(all[i].max, all[i].values[column]);
        }
    }
    qsort(all, count, sizeof *all, time_band_compare);
    for (size_t i = 0; i < count && all[i].max > 0 && time->bands_count < TIME_SITES; i++)
        time->bands[time->bands_count++] = all[i];
    free(all);
    return true;
}

static int time_band_compare(const void *left, const void *right)
{
    const struct time_band *a = left, *b = right;
    return a->max > b->max ? -1 : a->max < b->max;
}

static void time_survey(struct time_plot *time)
{
    const struct profile *profile = time->view->profile;
    const struct profile_moment *moments = profile->moments.items;
    const struct profile_point *points = profile->points.items;
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (moments[i].rows && time->columns < PROFILE_MOMENTS_MAX &&
            time->columns < profile->history_moments)
            time->times[time->columns++] = moments[i].time_ns;
        time->last_ns = moments[i].time_ns > time->last_ns ? moments[i].time_ns : time->last_ns;
    }
    for (size_t i = 0; i < profile->points.count; i++)
        time->resident_max = fmax(time->resident_max, (double)points[i].resident_bytes);
    time_peak(time, profile, &time->course);
    if (time->view->base != NULL && time->view->base->points.count > 1)
        time_peak(time, time->view->base, &time->before);
    for (unsigned column = 0; column < time->columns; column++) {
        double sum = 0;
        for (unsigned band = 0; band < time->bands_count; band++)
            sum += time->bands[band].values[column];
        time->max = fmax(time->max, sum);
    }
    time->resident = time->resident_max > 0 && time->resident_max <= 3 * time->max;
    if (time->resident)
        time->max = fmax(time->max, time->resident_max);
}

/* The peak, and how far time and memory go. What was recorded of the peak itself counts: between
 * two points there may have been more. */
static void time_peak(struct time_plot *time, const struct profile *profile,
                      struct time_course *course)
{
    const struct profile_point *points = profile->points.items;
    int type = profile_type_named(profile, TYPE_PEAK_SPACE);
    double sum = 0;
    for (size_t i = 0; i < profile->points.count; i++) {
        if ((double)points[i].live_bytes > course->peak) {
            course->peak = (double)points[i].live_bytes;
            course->peak_ns = points[i].time_ns;
        }
        time->last_ns = points[i].time_ns > time->last_ns ? points[i].time_ns : time->last_ns;
    }
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += (double)profile->samples.values[type][i];
    if (sum > 0) {
        course->peak = sum;
        if (profile->peak_time_ns > 0)
            course->peak_ns = profile->peak_time_ns;
    }
    time->max = fmax(time->max, course->peak);
    time->last_ns = course->peak_ns > time->last_ns ? course->peak_ns : time->last_ns;
}

/* The points of the curves: of those at one pixel the highest, and the peak among them. */
static void time_points(const struct time_plot *time, const struct profile *profile,
                        struct time_course *course)
{
    const struct profile_point *points = profile->points.items;
    size_t count = profile->points.count;
    bool peak = course->peak > 0; /* is still to come */
    course->points = calloc(count + 1, sizeof *course->points);
    for (size_t i = 0; course->points != NULL && i < count;) {
        struct time_point point = {.time_ns = course->peak_ns, .live = course->peak};
        if (peak && course->peak_ns <= points[i].time_ns) {
            peak = false;
        } else {
            point.time_ns = points[i].time_ns;
            point.live = (double)points[i].live_bytes;
            point.resident = (double)points[i++].resident_bytes;
        }
        point.live_last = point.live;
        point.x = time_x(time, point.time_ns);
        struct time_point *last = course->points + course->count - (course->count > 0);
        if (course->count > 0 && point.x - last->x < 0.3) {
            last->live = fmax(last->live, point.live);
            last->live_last = point.live;
            last->resident = fmax(last->resident, point.resident);
        } else {
            course->points[course->count++] = point;
        }
    }
}

static double time_x(const struct time_plot *time, int64_t ns)
{
    double share = time->last_ns > 0 ? (double)ns / (double)time->last_ns : 0;
    return time->plot.left + fmin(fmax(share, 0), 1) * (time->plot.right - time->plot.left);
}

/* How high the legend is. */
static unsigned time_legend_height(const struct time_plot *time)
{
    unsigned columns = time_legend_columns(&time->plot);
    unsigned curves = 0;
    for (enum time_curve curve = 0; curve < CURVES; curve++)
        curves += time_curve_known(time, curve);
    unsigned areas = time->bands_count + (time->bands_count > 0);
    return 19 * ((curves + columns - 1) / columns + (areas + columns - 1) / columns);
}

static unsigned time_legend_columns(const struct plot *plot)
{
    return plot->width < 700 ? 1 : 2;
}

static void time_curve(const struct time_plot *time, enum time_curve curve)
{
    FILE *file = time->plot.file;
    const struct time_course *course = curve == CURVE_BEFORE ? &time->before : &time->course;
    bool open = false;
    double before = 0;
    for (size_t i = 0; i < course->count; i++) {
        const struct time_point *point = &course->points[i];
        bool resident = curve == CURVE_RESIDENT;
        if (resident && point->resident <= 0)
            continue;
        if (!open) {
            before = resident ? point->resident : 0;
            fprintf(file, "<path class=\"curve %s\" d=\"M%.1f,%.1f", curve_classes[curve], point->x,
                    plot_y(&time->plot, before));
        }
        time_step(time, point->x, &before, resident ? point->resident : point->live,
                  resident ? point->resident : point->live_last);
        open = true;
    }
    if (open)
        fprintf(file, "L%.1f,%.1f\"><title>%s</title></path>\n",
                curve == CURVE_BEFORE ? course->points[course->count - 1].x : time->plot.right,
                plot_y(&time->plot, before), time_curve_name(time, curve));
}

/* Draws a step to the largest value of a point; the line goes on with its last value. */
static void time_step(const struct time_plot *time, double x, double *before, double max,
                      double last)
{
    FILE *file = time->plot.file;
    fprintf(file, "L%.1f,%.1fL%.1f,%.1f", x, plot_y(&time->plot, *before), x,
            plot_y(&time->plot, max));
    if (last != max)
        fprintf(file, "L%.1f,%.1f", x + 0.2, plot_y(&time->plot, last));
    *before = last;
}

static const char *time_curve_name(const struct time_plot *time, enum time_curve curve)
{
    return curve == CURVE_RESIDENT ? "resident memory of the process"
           : curve == CURVE_BEFORE ? "live heap before"
           : time->exact           ? "live heap, every block counted"
           : time->counted         ? "live heap, counted; sites are estimated from samples"
                                   : "live heap, estimated from samples";
}

/* Whether the legend has it. */
static bool time_curve_known(const struct time_plot *time, enum time_curve curve)
{
    return curve == CURVE_RESIDENT ? time->resident_max > 0
           : curve == CURVE_BEFORE ? time->before.count > 0
                                   : time->course.count > 0;
}

/* The heap as one area: grey if there are sites to tell apart, which lie over it. */
static void time_area(const struct time_plot *time)
{
    FILE *file = time->plot.file;
    bool under = time->bands_count > 0;
    if (time->course.count == 0)
        return;
    if (under)
        fprintf(file, "<clipPath id=\"heap%u\">", time->plot.width);
    for (unsigned i = 0, copies = under ? 2 : 1; i < copies; i++) {
        fprintf(file, "<path class=\"c%d1\" d=\"M%.1f,%.1f", under ? SVG_FAMILIES - 1 : 0,
                time->course.points[0].x, time->plot.bottom);
        double before = 0;
        for (size_t k = 0; k < time->course.count; k++)
            time_step(time, time->course.points[k].x, &before, time->course.points[k].live,
                      time->course.points[k].live_last);
        fprintf(file, "L%.1f,%.1fL%.1f,%.1fZ\"/>%s\n", time->plot.right,
                plot_y(&time->plot, before), time->plot.right, time->plot.bottom,
                under && i == 0 ? "</clipPath>" : "");
    }
}

static void time_areas(const struct time_plot *time)
{
    FILE *file = time->plot.file;
    double below[PROFILE_MOMENTS_MAX] = {0};
    fputs("<g", file);
    if (time->course.count > 0)
        fprintf(file, " clip-path=\"url(#heap%u)\"", time->plot.width);
    fputs(">\n", file);
    for (unsigned i = 0; i < time->bands_count && time->columns > 0; i++) {
        const struct time_band *band = &time->bands[i];
        char text[SVG_NAME_MAX * 2], value[32];
        time_band_name(time, band, text, 120);
        fprintf(file, "<path class=\"c%u1\" d=\"M%.1f,%.1f", i, time_x(time, time->times[0]),
                time->plot.bottom);
        double before = 0;
        for (unsigned k = 0; k < time->columns; k++)
            time_step(time, time_x(time, time->times[k]), &before, below[k] + band->values[k],
                      below[k] + band->values[k]);
        fprintf(file, "L%.1f,%.1f", time->plot.right, plot_y(&time->plot, before));
        for (unsigned k = time->columns; k-- > 0;) {
            double end =
                k + 1 < time->columns ? time_x(time, time->times[k + 1]) : time->plot.right;
            fprintf(file, "L%.1f,%.1fL%.1f,%.1f", end, plot_y(&time->plot, below[k]),
                    time_x(time, time->times[k]), plot_y(&time->plot, below[k]));
        }
        fputs("Z\"><title>", file);
        svg_text(file, text);
        fprintf(file, ", up to %s</title></path>\n", style_value(value, band->max, UNIT_BYTES));
        for (unsigned k = 0; k < time->columns; k++)
            below[k] += band->values[k];
    }
    fputs("</g>\n", file);
}

static void time_band_name(const struct time_plot *time, const struct time_band *band,
                           char text[SVG_NAME_MAX * 2], unsigned columns)
{
    char name[SVG_NAME_MAX], place[160] = "";
    const struct view_frame *frame = &time->view->frames[band->row->frame];
    if (frame->file[0] != '\0')
        snprintf(place, sizeof place, frame->line != 0 ? " \xc2\xb7 %.120s:%u" : " \xc2\xb7 %.120s",
                 name_base(frame->file), frame->line);
    unsigned used = svg_columns(place);
    snprintf(text, SVG_NAME_MAX * 2, "%s%s",
             svg_name(name, frame->name, columns > used + 8 ? columns - used : 8), place);
}

static void time_marks(const struct time_plot *time)
{
    const struct profile *profile = time->view->profile;
    const struct profile_moment *moments = profile->moments.items;
    FILE *file = time->plot.file;
    double last_x = -100;
    for (size_t i = 0; i < profile->moments.count; i++) {
        if (moments[i].rows || moments[i].clock || moments[i].name == 0)
            continue;
        double x = time_x(time, moments[i].time_ns);
        if (x - last_x < 8 || x > time->plot.right - 8) /* that it ended is seen without */
            continue;
        fprintf(file,
                "<line class=\"mark\" stroke-dasharray=\"2 3\" x1=\"%.1f\" x2=\"%.1f\" "
                "y1=\"%.0f\" y2=\"%.0f\"/>",
                x, x, time->plot.top, time->plot.bottom);
        if (x - last_x > 90) {
            char text[SVG_NAME_MAX];
            bool left = x > time->plot.right - 90;
            fprintf(file, "<text class=\"sub halo%s\" x=\"%.1f\" y=\"%.0f\">", left ? " end" : "",
                    left ? x - 4 : x + 4, time->plot.top + 11);
            svg_text(file, svg_name(text, profile_text(profile, moments[i].name), 14));
            fputs("</text>", file);
        }
        last_x = x;
    }
    if (time->course.peak <= 0)
        return;
    char value[32], when[32];
    double x = time_x(time, time->course.peak_ns), y = plot_y(&time->plot, time->course.peak);
    bool right = x > (time->plot.left + time->plot.right) / 2;
    fprintf(file,
            "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text "
            "class=\"hd small halo%s\" x=\"%.1f\" y=\"%.1f\">peak %s at %s</text>\n",
            x, y, right ? " end" : "", right ? x - 8 : x + 8, fmax(y - 9, time->plot.top - 6),
            style_value(value, time->course.peak, UNIT_BYTES),
            time->course.peak_ns < 1000000 ? "the start" : style_time(when, time->course.peak_ns));
}

/* Two columns under the axis, or one: curves first, then the sites from the top band down. */
static void time_legend(const struct time_plot *time, unsigned y)
{
    FILE *file = time->plot.file;
    unsigned columns = time_legend_columns(&time->plot), entry = 0;
    char value[32];
    double room = (time->plot.width - 32.0) / columns;
    for (enum time_curve curve = 0; curve < CURVES; curve++) {
        bool drawn = curve != CURVE_RESIDENT || time->resident;
        if (!time_curve_known(time, curve))
            continue;
        double x = 16 + (entry % columns) * room;
        unsigned at = y + entry / columns * 19;
        if (drawn)
            fprintf(file, "<line class=\"curve %s\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%u\" y2=\"%u\"/>",
                    curve_classes[curve], x, x + 14, at + 7, at + 7);
        fprintf(file, "<text class=\"sub\" x=\"%.0f\" y=\"%u\">%s", x + 22, at + 11,
                time_curve_name(time, curve));
        if (!drawn)
            fprintf(file, ": up to %s, beyond the scale of this plot",
                    style_value(value, time->resident_max, UNIT_BYTES));
        fputs("</text>\n", file);
        entry++;
    }
    entry += entry % columns;
    for (unsigned i = 0; i < time->bands_count; i++, entry++) {
        double x = 16 + (entry % columns) * room;
        unsigned at = y + entry / columns * 19;
        char text[SVG_NAME_MAX * 2];
        time_band_name(time, &time->bands[i], text, (unsigned)((room - 150) / 6.7));
        fprintf(file,
                "<rect class=\"c%u1\" x=\"%.0f\" y=\"%u\" width=\"14\" height=\"14\"/>"
                "<text class=\"sub end\" x=\"%.0f\" y=\"%u\">up to %s</text>"
                "<text class=\"tx name\" x=\"%.0f\" y=\"%u\">",
                i, x, at, x + 112, at + 11, style_value(value, time->bands[i].max, UNIT_BYTES),
                x + 120, at + 11);
        svg_text(file, text);
        fputs("</text>\n", file);
    }
    if (time->bands_count > 0)
        fprintf(file,
                "<rect class=\"c%d1\" x=\"%.0f\" y=\"%u\" width=\"14\" height=\"14\"/><text "
                "class=\"sub\" x=\"%.0f\" y=\"%u\">all others, and blocks freed between "
                "snapshots</text>\n",
                SVG_FAMILIES - 1, 16 + (entry % columns) * room, y + entry / columns * 19,
                38 + (entry % columns) * room, y + entry / columns * 19 + 11);
}
