/* SPDX-License-Identifier: MIT */
/* The frame of a plot: title, axes with round numbers, both themes. */
#ifndef REPORT_PICTURE_PLOT_H
#define REPORT_PICTURE_PLOT_H

#include "tool/report/picture/draw.h"

struct plot {
    FILE *file;
    bool inside; /* a part of a page, which has the style and the title */
    unsigned width, height;
    double left, right, top, bottom; /* of the area with the data, in pixels */
    double y_max;                    /* the value at `top`; at `bottom` it is 0 */
    enum value_unit unit;            /* of y */
};

enum { PLOT_TITLE = 56 }; /* pixels on top that pages leave out */

/* Opens the picture: size, style, title and a line under it. */
void plot_start(struct plot *plot, const char *title, const char *subtitle, bool memory);
/* What the options want, or `usual`. */
unsigned plot_width(const struct picture_options *options, unsigned usual);
void plot_end(const struct plot *plot);
/* Sets y_max to a round number over `max`, and draws the lines and numbers of the axis. */
void plot_y_axis(struct plot *plot, double max, enum value_unit unit);
double plot_y(const struct plot *plot, double value);
/* As style_value, without zeros at the end. */
const char *plot_round(char text[32], double value, enum value_unit unit);
/* A sentence in the place of data. */
void plot_nothing(const struct plot *plot, const char *sentence);
/* Times from 0 to `max_ns`, at round numbers. */
void plot_time_axis(const struct plot *plot, int64_t max_ns);

#endif
