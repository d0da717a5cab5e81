/* SPDX-License-Identifier: MIT */
/*
 * Which thread ran when: a row for each of the threads with the most CPU time, in its order; the
 * height of a bar is the thread's share of a CPU.
 */
#include <math.h>
#include <stdlib.h>

#include "tool/report/picture/plot.h"
#include "tool/report/picture/svg.h"
#include "tool/report/report.h"

enum { ROWS_MAX = 40, ROW_HEIGHT = 30, BAR_HEIGHT = 22, ROWS_TOP = 66, AXIS_HEIGHT = 34 };

struct thread_line {
    const struct profile_course *course;
    double us;
};

static size_t lines_make(const struct profile *profile, struct thread_line *lines);
static int line_order(const void *left, const void *right);
static void line_put(const struct plot *plot, const struct profile *profile,
                     const struct thread_line *line, double y, double end_ms);
static const char *name_of(const struct profile *profile, uint64_t id);

void picture_threads(const struct view *view, const struct picture_options *options, FILE *file)
{
    const struct profile *profile = view->profile;
    struct plot plot = {.file = file, .inside = options->inside};
    struct thread_line *lines = calloc(profile->courses.count + 1, sizeof *lines);
    char subtitle[96];
    size_t count = lines ? lines_make(profile, lines) : 0;
    size_t shown = count < ROWS_MAX ? count : ROWS_MAX;
    double end_ms = 0;
    for (size_t i = 0; i < shown; i++)
        end_ms = fmax(end_ms, (double)lines[i].course->width_ms * lines[i].course->count);
    plot.width = plot_width(options, 1000);
    plot.left = plot.width < 600 ? 130 : 190;
    plot.right = plot.width - 24.0;
    plot.top = ROWS_TOP;
    plot.bottom = ROWS_TOP + (double)(shown > 0 ? shown : 2) * ROW_HEIGHT;
    plot.height = (unsigned)plot.bottom + AXIS_HEIGHT;
    snprintf(subtitle, sizeof subtitle, "which thread ran when: %zu of %zu; full height is one CPU",
             shown, count);
    plot_start(&plot, options->title != NULL ? options->title : "Which thread ran when", subtitle,
               false);
    if (shown == 0)
        plot_nothing(&plot, "It is not known when threads ran: record with --cpu.");
    else
        plot_time_axis(&plot, (int64_t)(end_ms * 1e6));
    for (size_t i = 0; i < shown; i++)
        line_put(&plot, profile, &lines[i], plot.top + (double)(i + 1) * ROW_HEIGHT, end_ms);
    plot_end(&plot);
    free(lines);
}

/* Threads that ran at all, those with the most time first. */
static size_t lines_make(const struct profile *profile, struct thread_line *lines)
{
    const struct profile_course *courses = profile->courses.items;
    size_t count = 0;
    for (size_t i = 0; i < profile->courses.count; i++) {
        struct thread_line line = {.course = &courses[i]};
        for (unsigned k = 0; k < courses[i].count; k++)
            line.us += courses[i].us[k];
        if (line.us > 0)
            lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, line_order);
    return count;
}

static int line_order(const void *left, const void *right)
{
    const struct thread_line *a = left, *b = right;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return (a->course > b->course) - (a->course < b->course);
}

static void line_put(const struct plot *plot, const struct profile *profile,
                     const struct thread_line *line, double y, double end_ms)
{
    const struct profile_course *course = line->course;
    double scale = (plot->right - plot->left) / end_ms, width = course->width_ms * scale;
    char time[32], short_name[SVG_NAME_MAX];
    const char *name = name_of(profile, course->id);
    style_value(time, line->us * 1e3, UNIT_NANOSECONDS);
    fputs("<g><title>", plot->file);
    svg_text(plot->file, name);
    fprintf(plot->file, " %llu: %s</title><text class=\"tx end\" x=\"%.0f\" y=\"%.0f\">",
            (unsigned long long)course->id, time, plot->left - 8, y - 11);
    svg_text(plot->file, svg_name(short_name, name, plot->left < 150 ? 16 : 24));
    fprintf(plot->file,
            "</text><text class=\"sub end\" x=\"%.0f\" y=\"%.0f\">%s</text>"
            "<line class=\"ln\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            plot->left - 8, y + 1, time, plot->left, plot->right, y + 0.5, y + 0.5);
    for (unsigned k = 0; k < course->count; k++) {
        double share = fmin(course->us[k] / (course->width_ms * 1000.0), 1);
        if (share <= 0)
            continue;
        double height = fmax(share * BAR_HEIGHT, 1);
        fprintf(plot->file,
                "<rect class=\"c00\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                plot->left + k * width, y - height, fmax(width - 0.5, 0.5), height);
    }
    fputs("</g>\n", plot->file);
}

static const char *name_of(const struct profile *profile, uint64_t id)
{
    for (uint32_t set = 1; set < profile->label_sets.count; set++) {
        const struct profile_label *tid = profile_label_of(profile, set, "tid");
        const struct profile_label *name = profile_label_of(profile, set, "thread");
        if (!tid || !name || !name->text)
            continue;
        uint64_t number = tid->text ? strtoull(profile_text(profile, tid->text), NULL, 10)
                                    : (uint64_t)tid->number;
        if (number == id)
            return profile_text(profile, name->text);
    }
    return "thread";
}
