/* SPDX-License-Identifier: MIT */
/* The door of tool/report/text: answers as tables and trees, in text, JSON and CSV. */
#ifndef REPORT_TEXT_TEXT_H
#define REPORT_TEXT_TEXT_H

#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

/* Tables and trees; each in text, JSON ("schema": "memoir.top/1") and, where it is a table, CSV. */
void report_page(const struct view *view, const struct style *style);
/* The same in a few lines, for the end of a run that took `resident_bytes` of RSS, 0: as the
 * profile says. Times are those of the profile; `time_ns` is how long the run took, which is more
 * if the program was killed. */
void report_brief(const struct view *view, const struct style *style, int64_t time_ns,
                  uint64_t resident_bytes);
void report_top(const struct view *view, const struct style *style);
void report_tree(const struct view *view, const struct style *style);
bool report_peek(const struct view *view, const char *pattern, const struct style *style,
                 struct view_error *error);
void report_traces(const struct view *view, const struct style *style);
/* True: there are some. */
bool report_leaks(const struct view *view, const struct leaks_options *options,
                  const struct style *style);
void report_churn(const struct view *view, const struct style *style);
void report_frag(const struct view *view, const struct style *style);
void report_sizes(const struct view *view, const struct style *style);
void report_threads(const struct view *view, const struct style *style);
void report_time(const struct view *view, const struct style *style);
/* True: something has changed, beyond the noise. */
bool report_diff(const struct view *view, const struct style *style);
void report_check(const struct check *check, const struct style *style);
void report_check_junit(const struct check *check, const char *name, FILE *file);
/* Annotations as GitHub's runners read them, and a table for its summary. */
void report_check_github(const struct check *check, FILE *commands, FILE *markdown);
bool report_list(const struct view *view, const char *pattern, const char *source_path,
                 const struct style *style, struct view_error *error);

#endif
