/* SPDX-License-Identifier: MIT */
/* Patterns of suppressions: a part of a name, where * is any text, ^ the beginning and $ the end.
 */
#ifndef WATCH_WILDCARD_H
#define WATCH_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>

/* False for an empty name. May run in a signal handler. */
bool wildcard_fits(const char *pattern, size_t length, const char *name);

#endif
