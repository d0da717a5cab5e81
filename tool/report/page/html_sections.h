/* SPDX-License-Identifier: MIT */
/* The page while it is made: html.c writes what the other html_*.c have put together. */
#ifndef REPORT_PAGE_HTML_SECTIONS_H
#define REPORT_PAGE_HTML_SECTIONS_H

#include "tool/report/page/html.h"
#include "tool/report/picture/picture.h"

enum { HTML_METRICS_MAX = 9, HTML_PLAIN_ROWS = 20 };
#define HTML_SHORT_LIVED "short_lived" /* the key of blocks that lived for less than 1 ms */

/* A text that grows; `text` is there after html_text_end. */
struct html_text {
    FILE *file;
    char *text;
    size_t size;
};
bool html_text_start(struct html_text *text);
bool html_text_end(struct html_text *text);

/* One of the numbers that a page can show. */
struct html_metric {
    char key[64];
    const char *title, *unit_name;
    enum value_unit unit;
    const char *things, *by; /* what is counted beside the values; what a row is */
    struct view_value total;
    struct html_text rows;  /* JSON, for page.js */
    struct html_text plain; /* the first of them in HTML; of the first metric only */
    struct html_text nodes; /* of the flame graph */
    size_t rows_count, rows_shown;
    double noise; /* of the change, in a comparison */
    bool compared;
};

struct html {
    const struct profile *profile;
    struct view_options view;
    const struct html_options *options;
    FILE *file;
    struct flame_data data;
    struct html_metric metrics[HTML_METRICS_MAX];
    unsigned metrics_count;
    struct view past; /* live memory with its history, by site; of the plot and of leaks */
    bool has_past;
    double unnamed;         /* share of frames without a name, as top has it */
    struct html_text leaks; /* HTML; NULL: there is nothing to tell */
    struct view_error *error;
};

/* The metrics that the profile has, the wanted one first. False: the error says why. */
bool html_metrics_make(struct html *html);
/* The view `past`, made when first asked for. NULL: the error says why. */
const struct view *html_past(struct html *html);
/* The table of leaks. */
bool html_leaks_make(struct html *html);

/* "±3 %" with a space before it, if the error is large enough to be shown. */
void html_error(FILE *file, const struct view_value *value);
/* Function and place of a frame. */
void html_site(FILE *file, const struct view_frame *frame);

#endif
