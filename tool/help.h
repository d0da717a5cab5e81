/* SPDX-License-Identifier: MIT */
/* The explanation of one command; the command `help` itself is a row of commands.def. */
#ifndef TOOL_HELP_H
#define TOOL_HELP_H

#include "tool/commands.h"

void help_command(const struct command *command);

#endif
