/* SPDX-License-Identifier: MIT */
/* What tables and trees of a view have in common. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "tool/report/view.h"
#include "tool/terminal/terminal.h"

/* "live heap": what the column of a profile is called by people. */
const char *table_metric(const struct view *view);
/* Whether it is what was live when the heap was largest, as a column or as the moment asked for. */
bool table_is_peak(const struct view *view, const struct profile *profile);
/* The moment that a profile's column is of, "1m02s"; "" where there is no telling. */
const char *table_moment(char text[32], const struct view *view, const struct profile *profile);
/* "site", "function", ... */
/* What is counted beside the values: "objects", "samples", "waits". */
const char *table_objects(const struct view *view);
/* Of the total of the view, 0 to 1. */
double table_share(const struct view *view, int64_t value);

/* The first line: input, metric, total with its error, how much has names. */
void table_head(const struct view *view, const struct style *style);
/* The last: what self and total are. */
void table_foot(const struct view *view, const struct style *style);
/* Numbers, right-aligned and in the colour of their share. */
void table_value(const struct view *view, const struct style *style, int64_t value, unsigned width);
void table_value_share(const struct view *view, const struct style *style, int64_t value,
                       unsigned width);
/* "±3%", if the error is large enough to be shown, ">999%" at most; how wide that column is, with
 * the space before it. */
void table_error(const struct style *style, const struct view_value *value);
unsigned table_error_width(const struct style *style);
/* Name and place in `width` columns, the name in `name` of them. Ends without spaces. */
void table_site(const struct view *view, const struct style *style, uint32_t frame, unsigned name,
                unsigned width);
/* Columns that the longest name of such rows needs, at most `max`. */
unsigned table_name_width(const struct view *view, const struct view_row *rows, size_t count,
                          unsigned max);
/* How many that should be, of `room` columns for name and place. */
unsigned table_name_max(const struct style *style, unsigned room);
/* The same where the place beside it keeps at least the file's name and line, of `room` columns. */
unsigned table_name_wanted(const struct view *view, const struct view_row *rows, size_t count,
                           unsigned room);
/* The chains of library frames that were folded into this one, the largest first, each with its
 * part of the frame's own value. The view's stacks are `apart`. */
void table_folded(const struct view *view, const struct style *style, uint32_t frame);
/* Of `count` cells as many as fit into `width`, evenly. In place. */
const char *table_squeeze(char *trend, unsigned count, unsigned width);

/* Schema, input, metric, total and whole. */
void table_json_head(struct json *json, const struct view *view, const struct style *style,
                     const char *schema);
/* The members of a frame: name, file, line, module, ... */
void table_json_frame(struct json *json, const struct view *view, uint32_t frame);
void table_csv_text(const struct style *style, const char *text);

#endif
