/* SPDX-License-Identifier: MIT */
/*
 * Lines that fit into a terminal. Reports lay their tables out for its width; whatever is longer in
 * spite of that, a sentence or a line of totals, goes on in the next line, indented.
 */
#ifndef TERMINAL_WRAP_H
#define TERMINAL_WRAP_H

#include <stdio.h>

/* One line, without its end, and a '\n'. Escape sequences take no room. */
void wrap_line(FILE *to, const char *line, size_t length, unsigned width);
/* Standard output, or standard error, in this way if it is a terminal. Pair with wrap_end. */
FILE *wrap_output(void);
FILE *wrap_errors(void);
void wrap_end(FILE *file);

#endif
