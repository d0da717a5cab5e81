/* SPDX-License-Identifier: MIT */
/* Which package of the distribution has the debug information of an installed file. */
#ifndef PROCESS_PACKAGE_H
#define PROCESS_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* The command that installs it. False if that can't be told. */
bool package_debug(const char *path, char *command, size_t size);

#endif
