/* SPDX-License-Identifier: MIT */
/*
 * A second column beside the first, where a profile has memory and time: the CPU time of a line
 * that allocates, the bytes that a function allocates. Rows are the same, and so are filters;
 * library frames belong to their caller in both.
 */
#ifndef REPORT_BESIDE_H
#define REPORT_BESIDE_H

#include "tool/report/view.h"

struct beside {
    struct view view;
    struct view_row *rows; /* in the order of their frames' names */
    size_t count;
    bool there;
};

/* False: memory is out. `there` tells whether the profile has a second column. */
bool beside_make(struct beside *beside, const struct view *view);
/* What is there for a frame of the first view, itself. */
int64_t beside_value(const struct beside *beside, const struct view_frame *frame);
/* "cpu", "alloc_space" */
const char *beside_name(const struct beside *beside);
void beside_free(struct beside *beside);

#endif
