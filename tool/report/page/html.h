/* SPDX-License-Identifier: MIT */
/*
 * The page to be mailed: one file of HTML that needs no network, no other file and, for its numbers
 * and plots, no scripts. The flame graph and sorting do need them (flame.js, page.js).
 */
#ifndef REPORT_PAGE_HTML_H
#define REPORT_PAGE_HTML_H

#include <stdio.h>

#include "tool/report/report.h"

/* Something that the reader should know, and what can be done about it ("": nothing). */
struct html_note {
    char *text, *fix;
};

struct html_options {
    const char *title;     /* the first line; NULL: the program's name */
    const char *name;      /* of the input */
    const char *base_name; /* of what it is compared with; NULL: nothing */
    const char *filters;   /* what was left out, in words; "": nothing */
    const char *version;   /* of this command */
    const struct html_note *notes;
    size_t notes_count;
    bool by_given, frames_given; /* the flame graph, too, has what the view's options say */
    bool reversed;               /* it is merged from the leaf at first */
};

/* `view` has the filters, the base and the metric that is shown first. */
bool html_write(const struct profile *profile, const struct view_options *view,
                const struct html_options *options, FILE *file, struct view_error *error);

#endif
