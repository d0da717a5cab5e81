/* SPDX-License-Identifier: MIT */
/*
 * How large the blocks are: bytes and objects by size, in steps of powers of two. The size of a
 * block is its label "bytes"; where there is none, the mean of a stack has to do.
 */
#include "tool/report/picture/plot.h"

#include <math.h>
#include <stdlib.h>

#include "tool/report/picture/svg.h"
#include "tool/report/report.h"

enum { SIZES_STEPS = 64 }; /* doublings: all that 64 bits have */

struct sizes {
    double value[SIZES_STEPS], objects[SIZES_STEPS];
    unsigned first, end; /* of the steps that have something */
    bool labels;
};

static void sizes_count(struct sizes *sizes, const struct view *view);
static unsigned sizes_step(double size);
static void sizes_panel(struct plot *plot, const struct sizes *sizes, const double *values,
                        enum value_unit unit, const char *title, unsigned family);

void picture_sizes(const struct view *view, const struct picture_options *options, FILE *file)
{
    struct sizes sizes = {0};
    struct plot plot = {.file = file, .inside = options->inside};
    bool counted = view->options.type < view->profile->types;
    if (counted)
        sizes_count(&sizes, view);
    bool objects = counted && profile_type_partner(view->profile, view->options.type) >= 0;
    plot.width = plot_width(options, 1000);
    plot.height = objects ? 590 : 350;
    plot.left = 84;
    plot.right = plot.width - 24.0;
    char subtitle[256], value[32];
    snprintf(subtitle, sizeof subtitle, "%.100s \xc2\xb7 %s%s", counted ? table_metric(view) : "",
             style_value(value, (double)view->total.value, view->unit),
             sizes.labels ? "" : " \xc2\xb7 by the mean size of each stack");
    plot_start(&plot, options->title != NULL ? options->title : "Sizes of blocks", subtitle, true);
    plot.top = 96;
    plot.bottom = 300;
    if (sizes.end == 0) {
        plot_nothing(&plot, "No blocks to draw.");
    } else {
        sizes_panel(&plot, &sizes, sizes.value, view->unit, "in blocks of up to", 0);
        plot.top = 366;
        plot.bottom = 540;
        if (objects)
            sizes_panel(&plot, &sizes, sizes.objects, UNIT_COUNT, "objects of up to", 1);
    }
    plot_end(&plot);
}

static void sizes_count(struct sizes *sizes, const struct view *view)
{
    const struct profile *profile = view->profile;
    unsigned type = view->options.type;
    int partner = profile_type_partner(profile, type);
    for (size_t i = 0; i < profile->samples.count; i++) {
        if (view->sample_stacks != NULL && view->sample_stacks[i] == UINT32_MAX)
            continue;
        double share = filter_age_share(&view->options, profile, i);
        double value = (double)profile->samples.values[type][i] * share;
        double objects = partner >= 0 ? (double)profile->samples.values[partner][i] * share : 0;
        const struct profile_label *label =
            profile_label_of(profile, profile->samples.label_sets[i], LABEL_BLOCK_BYTES);
        double size = objects > 0 ? value / objects : value;
        if (label != NULL && label->text == 0 && label->number > 0) {
            size = (double)label->number;
            sizes->labels = true;
        }
        if (value <= 0)
            continue;
        unsigned step = sizes_step(size);
        sizes->value[step] += value;
        sizes->objects[step] += objects;
    }
    sizes->first = SIZES_STEPS;
    for (unsigned i = 0; i < SIZES_STEPS; i++) {
        if (sizes->value[i] <= 0)
            continue;
        sizes->first = i < sizes->first ? i : sizes->first;
        sizes->end = i + 1;
    }
}

/* The step of blocks above 2^(step-1) and up to 2^step. */
static unsigned sizes_step(double size)
{
    double step = ceil(log2(fmax(size, 1)));
    return step < SIZES_STEPS - 1 ? (unsigned)step : SIZES_STEPS - 1;
}

/* One panel; bars of one height in all of its pixels are as wide as there is room. */
static void sizes_panel(struct plot *plot, const struct sizes *sizes, const double *values,
                        enum value_unit unit, const char *title, unsigned family)
{
    FILE *file = plot->file;
    double max = 0, all = 0;
    for (unsigned i = sizes->first; i < sizes->end; i++) {
        max = fmax(max, values[i]);
        all += values[i];
    }
    fprintf(file, "<text class=\"tx\" x=\"16\" y=\"%.0f\">%s</text>\n", plot->top - 14, title);
    plot_y_axis(plot, max, unit);
    double step = (plot->right - plot->left) / (sizes->end - sizes->first);
    double bar = fmin(step * 0.78, 64);
    unsigned every = (unsigned)fmax(1, ceil(46 / step)); /* one label for this many bars */
    for (unsigned i = sizes->first; i < sizes->end; i++) {
        double middle = plot->left + (i - sizes->first + 0.5) * step, y = plot_y(plot, values[i]);
        char size[32], value[32], share[16];
        plot_round(size, ldexp(1, (int)i), UNIT_BYTES);
        style_value(value, values[i], unit);
        style_share(share, values[i], all);
        fprintf(file,
                "<rect class=\"c%u0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "rx=\"2\"><title>up to %s: %s, %s</title></rect>"
                "<text class=\"sub mid\" x=\"%.1f\" y=\"%.0f\">%s</text>",
                family, middle - bar / 2, y, bar, plot->bottom - y, size, value, share, middle,
                plot->bottom + 17, (i - sizes->first) % every == 0 ? size : "");
        if (values[i] >= all * 0.005 && step > 38)
            fprintf(file, "<text class=\"sub mid halo\" x=\"%.1f\" y=\"%.1f\">%s</text>", middle,
                    y - 4, share);
        fputc('\n', file);
    }
}
