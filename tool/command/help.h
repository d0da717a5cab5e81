/* SPDX-License-Identifier: MIT */
/* Explanations; the command `help` itself is a row of commands.def, topics are in topics.c. */
#ifndef COMMAND_HELP_H
#define COMMAND_HELP_H

#include "tool/command/commands.h"

void help_command(const struct command *command);
/* One flag, in a line or two. */
void help_flag(const struct command_flag *flag);

#endif
