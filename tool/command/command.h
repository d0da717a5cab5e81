/* SPDX-License-Identifier: MIT */
/* The door of tool/command: the command table, the words of a user, the pages made from both. */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "tool/command/arguments.h"
#include "tool/command/commands.h"
#include "tool/command/help.h"
#include "tool/command/man.h"
#include "tool/command/options.h"

#endif
