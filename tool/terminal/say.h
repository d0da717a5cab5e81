/* SPDX-License-Identifier: MIT */
/*
 * The lines on standard error, and the pager. Standard output is data; everything else goes to
 * standard error.
 */
#ifndef TERMINAL_SAY_H
#define TERMINAL_SAY_H

#include "tool/terminal/error.h"

/* "memoir: ..." */
void terminal_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void terminal_error(const struct error *error);
/* The last line: what one may want to do next. Only for people. */
void terminal_next(const char *command);

/* From here on standard output goes through $PAGER (less), if it is a terminal. */
void terminal_page(void);
/* Ends the pager and checks that all output was written. */
bool terminal_end(struct error *error);

#endif
