/* SPDX-License-Identifier: MIT */
/* The heap over time, in one line. */
#ifndef REPORT_COURSE_H
#define REPORT_COURSE_H

#include "tool/report/style.h"
#include "tool/report/view.h"

/* An empty line and "heap 1.31 GiB |..| 2m14s", behind so many spaces; nothing if too
 * little is known. `end_ns` 0: the time of the last point. */
void course_print(const struct profile *profile, const struct style *style, unsigned indent,
                  int64_t end_ns);

#endif
