/* SPDX-License-Identifier: MIT */
/* The library that `memoir run` looks for, for verbs that tell whether it would be found. */
#ifndef TOOL_VERB_RUN_H
#define TOOL_VERB_RUN_H

#include <limits.h>
#include <stdbool.h>

#include "tool/terminal/terminal.h"

/* libmemoir.so: `wanted`, or where it is looked for. */
bool launch_library(char path[PATH_MAX], const char *wanted, struct error *error);
/* A program as the shell would find it. */
bool launch_program(char path[PATH_MAX], const char *name, struct error *error);

#endif
