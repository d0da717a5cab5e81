/* SPDX-License-Identifier: MIT */
/*
 * Lines that a user types: with editing, history and completion by libedit where there is a
 * terminal and the library, plainly elsewhere.
 */
#ifndef TOOL_SHELL_LINE_H
#define TOOL_SHELL_LINE_H

#include "tool/profile/profile.h"

/* Completes verbs and the functions of the profile, which must live until shell_line_end. */
void shell_line_start(const struct profile *profile);
/* Without its end, to be freed; NULL at the end of the input. */
char *shell_line_read(const char *prompt);
void shell_line_end(void);
/* From the handler of SIGINT: the line being typed is dropped. Safe in a signal handler. */
void shell_line_interrupt(void);

#endif
