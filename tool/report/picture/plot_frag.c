/* SPDX-License-Identifier: MIT */
/*
 * Where nearly empty pages are: the memory of spans by how full they are, and the sites that keep
 * it, each with what its blocks hold (dark) of what they pin (light).
 */
#include <math.h>
#include <stdlib.h>

#include "tool/report/picture/plot.h"
#include "tool/report/picture/svg.h"
#include "tool/report/report.h"

enum { SITES_MAX = 12, SITE_HEIGHT = 34, FILLS_TOP = 96, FILLS_BOTTOM = 270, SITES_TOP = 350 };

static void fills_panel(struct plot *plot, const struct profile_pins *pins);
static void sites_panel(const struct plot *plot, const struct view *view, const struct frag *frag);

void picture_frag(const struct view *view, const struct picture_options *options, FILE *file)
{
    const struct profile_pins *pins = &view->profile->pins;
    struct plot plot = {.file = file, .inside = options->inside};
    struct frag frag;
    char subtitle[256], spans[32], live[32];
    if (!frag_make(&frag, view))
        frag = (struct frag){0};
    size_t sites = frag.count < SITES_MAX ? frag.count : SITES_MAX;
    plot.width = plot_width(options, 1000);
    plot.height = SITES_TOP + 16 + (unsigned)sites * SITE_HEIGHT;
    plot.left = 84;
    plot.right = plot.width - 24.0;
    snprintf(subtitle, sizeof subtitle, "spans of blocks: %s in memory, %s live",
             style_value(spans, (double)pins->spans_space, UNIT_BYTES),
             style_value(live, (double)pins->live_space, UNIT_BYTES));
    plot_start(&plot, options->title != NULL ? options->title : "Nearly empty pages", subtitle,
               true);
    plot.top = FILLS_TOP;
    plot.bottom = FILLS_BOTTOM;
    if (!pins->known || pins->spans_space <= 0) {
        plot_nothing(&plot, "It is not known which pages the blocks are on.");
    } else {
        fills_panel(&plot, pins);
        sites_panel(&plot, view, &frag);
    }
    plot_end(&plot);
    frag_free(&frag);
}

static void fills_panel(struct plot *plot, const struct profile_pins *pins)
{
    double max = 0, step = (plot->right - plot->left) / PROFILE_FILLS, bar = fmin(step * 0.78, 64);
    for (unsigned i = 0; i < PROFILE_FILLS; i++)
        max = fmax(max, (double)pins->by_fill[i]);
    fprintf(plot->file,
            "<text class=\"tx\" x=\"16\" y=\"%.0f\">memory of spans that are full up "
            "to</text>\n",
            plot->top - 14);
    plot_y_axis(plot, max, UNIT_BYTES);
    for (unsigned i = 0; i < PROFILE_FILLS; i++) {
        double middle = plot->left + (i + 0.5) * step, value = (double)pins->by_fill[i];
        double y = plot_y(plot, value);
        char text[32], share[16];
        style_share(share, value, (double)pins->spans_space);
        fprintf(plot->file,
                "<rect class=\"c00\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "rx=\"2\"><title>%s, %s</title></rect>"
                "<text class=\"sub mid\" x=\"%.1f\" y=\"%.0f\">%s</text>",
                middle - bar / 2, y, bar, plot->bottom - y, style_value(text, value, UNIT_BYTES),
                share, middle, plot->bottom + 17, frag_fill_word(i));
        if (value >= 0.005 * (double)pins->spans_space)
            fprintf(plot->file, "<text class=\"sub mid halo\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                    middle, y - 4, share);
        fputc('\n', plot->file);
    }
}

static void site_row(const struct plot *plot, const struct view *view, const struct frag_row *row,
                     double y, double scale)
{
    const struct view_frame *frame = question_frame(view, row->frame);
    double pinned = (double)row->pinned * scale, held = (double)row->held * scale;
    char pins[32], holds[32];
    style_value(pins, (double)row->pinned, UNIT_BYTES);
    style_value(holds, (double)row->held, UNIT_BYTES);
    fprintf(plot->file, "<text class=\"tx\" x=\"16\" y=\"%.0f\">", y + 11);
    svg_text(plot->file, frame->name);
    fprintf(plot->file,
            "</text><text class=\"sub\" text-anchor=\"end\" x=\"%.0f\" y=\"%.0f\">"
            "holds %s, pins %s</text>",
            plot->right, y + 11, holds, pins);
    fprintf(plot->file,
            "<rect class=\"c00\" fill-opacity=\".5\" x=\"16\" y=\"%.0f\" width=\"%.1f\" "
            "height=\"10\" rx=\"2\"/><rect class=\"c00\" x=\"16\" y=\"%.0f\" width=\"%.1f\" "
            "height=\"10\" rx=\"2\"/>\n",
            y + 16, fmax(pinned, 1), y + 16, fmax(held, 1));
}

static void sites_panel(const struct plot *plot, const struct view *view, const struct frag *frag)
{
    double max = 1;
    for (size_t i = 0; i < frag->count && i < SITES_MAX; i++)
        max = fmax(max, (double)frag->rows[i].pinned);
    if (frag->count > 0)
        fprintf(
            plot->file,
            "<text class=\"sub\" x=\"16\" y=\"%d\">sites, emptiest first: bytes in their blocks, "
            "of the memory that they pin</text>\n",
            SITES_TOP - 26);
    for (size_t i = 0; i < frag->count && i < SITES_MAX; i++)
        site_row(plot, view, &frag->rows[i], SITES_TOP - 8 + (double)i * SITE_HEIGHT,
                 (plot->right - 16) / max);
}
