/* SPDX-License-Identifier: MIT */
/* The flag --suppressions of run, leaks and check. */
#ifndef TOOL_SUPPRESS_H
#define TOOL_SUPPRESS_H

#include "tool/command/command.h"
#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

/* The lines of the file that the flag names; without the flag, none. To be freed with
 * `suppressions_free`, also after a failure. */
bool suppress_read(struct suppressions **suppressions, const struct arguments *arguments,
                   struct error *error);

#endif
