/* SPDX-License-Identifier: MIT */
/* Blocks of a view by their size. */
#ifndef REPORT_TEXT_REPORT_SIZES_H
#define REPORT_TEXT_REPORT_SIZES_H

#include "tool/report/report.h"

struct sizes_row {
    uint64_t min, max; /* usable bytes of one block; a range where large ones are together */
    int64_t objects, bytes, requested;
};

struct sizes {
    struct sizes_row *rows; /* smallest first */
    size_t count;
    bool has_requested; /* the profile tells what was asked for */
    int64_t objects, bytes, requested;
};

/* If there are more sizes than `max`, they are put together by powers of two; 0: never. */
bool sizes_make(struct sizes *sizes, const struct view *view, size_t max);
void sizes_free(struct sizes *sizes);

#endif
