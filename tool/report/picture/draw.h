/* SPDX-License-Identifier: MIT */
/* The pictures, each into a file. */
#ifndef REPORT_PICTURE_DRAW_H
#define REPORT_PICTURE_DRAW_H

#include <stdio.h>

#include "tool/report/picture/picture_format.h"
#include "tool/report/report.h"

struct picture_options {
    const char *title;
    unsigned width; /* pixels; 0: 1200 */
    bool inverted;  /* roots on top (icicle) */
    bool reversed;  /* merged from the leaf */
    bool inside;    /* plots: a part of a page (plot.h) */
    /* Graphs, as in pprof; 0: its defaults. */
    unsigned nodes_max;
    double node_share, edge_share;
};
void picture_flame(const struct view *view, const struct picture_options *options, FILE *file);
void picture_dot(const struct view *view, const struct picture_options *options, FILE *file);
/* Through graphviz: SVG, PDF, PS, PNG or GIF. */
bool picture_graph(const struct view *view, const struct picture_options *options,
                   enum picture_format format, FILE *file, struct view_error *error);
/* The same of a text in the language of graphviz. */
bool picture_layout(const char *text, enum picture_format format, FILE *file,
                    struct view_error *error);
void picture_time(const struct view *view, const struct picture_options *options, FILE *file);
void picture_frag(const struct view *view, const struct picture_options *options, FILE *file);
void picture_sizes(const struct view *view, const struct picture_options *options, FILE *file);
void picture_threads(const struct view *view, const struct picture_options *options, FILE *file);

#endif
