/* SPDX-License-Identifier: MIT */
/* The heap over time, in one line. */
#ifndef REPORT_TEXT_HEAP_LINE_H
#define REPORT_TEXT_HEAP_LINE_H

#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"

/* An empty line and "heap 1.31 GiB |..| 2m14s", behind `indent` spaces; nothing if too little is
 * known. */
void heap_line_print(const struct profile *profile, const struct style *style, unsigned indent);

#endif
