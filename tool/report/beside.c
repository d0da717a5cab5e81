/* SPDX-License-Identifier: MIT */
/* See tool/report/beside.h. */
#include "tool/report/beside.h"

#include <stdlib.h>
#include <string.h>

static int column_of(const struct view *view);
static int row_order(const void *left, const void *right, void *view);
static int frame_order(const struct view_frame *a, const struct view_frame *b);

bool beside_make(struct beside *beside, const struct view *view)
{
    struct view_error error = {.text = ""};
    struct view_options options = view->options;
    int type = column_of(view);
    *beside = (struct beside){0};
    if (type < 0 || view->base || view->waited || view->profile->kind != PROFILE_HEAP ||
        !profile_type_timed(view->profile, view->timed ? options.type : (unsigned)type) ||
        options.by == VIEW_SIZE)
        return true;
    options.type = (unsigned)type;
    options.rows_only = true;
    options.fold_time = !view->timed || options.fold_time;
    options.age_min_us = options.age_max_us = 0;
    if (!view_make(&beside->view, view->profile, &options, &error))
        return false;
    beside->rows = view_rows(&beside->view, false, &beside->count);
    beside->there = beside->rows && beside->view.total.value != 0;
    if (beside->rows)
        qsort_r(beside->rows, beside->count, sizeof *beside->rows, row_order, &beside->view);
    return beside->rows != NULL;
}

/* Time beside memory, what was allocated beside time; -1: there is only one of them. */
static int column_of(const struct view *view)
{
    const struct profile *profile = view->profile;
    if (view->timed)
        return profile_type_named(profile, TYPE_ALLOC_SPACE);
    int time = profile_type_named(profile, TYPE_CPU);
    return time >= 0 ? time : profile_type_named(profile, TYPE_WALL);
}

static int row_order(const void *left, const void *right, void *view)
{
    const struct view_frame *frames = ((const struct view *)view)->frames;
    const struct view_row *a = left, *b = right;
    return frame_order(&frames[a->frame], &frames[b->frame]);
}

static int frame_order(const struct view_frame *a, const struct view_frame *b)
{
    int order = strcmp(a->name, b->name);
    if (order == 0 && a->line != b->line)
        order = a->line < b->line ? -1 : 1;
    if (order == 0 && a->address != b->address)
        order = a->address < b->address ? -1 : 1;
    if (order == 0)
        order = strcmp(a->file, b->file);
    return order != 0 ? order : strcmp(a->module, b->module);
}

int64_t beside_value(const struct beside *beside, const struct view_frame *frame)
{
    size_t low = 0, high = beside->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct view_row *row = &beside->rows[middle];
        int order = frame_order(frame, &beside->view.frames[row->frame]);
        if (order == 0)
            return row->self.value;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

const char *beside_name(const struct beside *beside)
{
    const struct profile *profile = beside->view.profile;
    return profile_text(profile, profile->type[beside->view.options.type].name);
}

void beside_free(struct beside *beside)
{
    free(beside->rows);
    view_free(&beside->view);
}
