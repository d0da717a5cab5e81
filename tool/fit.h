/* SPDX-License-Identifier: MIT */
/*
 * Lines that fit into a terminal. Reports lay their tables out for its width; whatever is longer in
 * spite of that, a sentence or a line of totals, goes on in the next line, indented.
 */
#ifndef TOOL_FIT_H
#define TOOL_FIT_H

#include <stdio.h>

/* One line, without its end, and a '\n'. Escape sequences take no room. */
void fit_line(FILE *to, const char *line, size_t length, unsigned width);
/* Standard output, or standard error, in this way if it is a terminal. Pair with fit_end. */
FILE *fit_output(void);
FILE *fit_errors(void);
void fit_end(FILE *file);

#endif
