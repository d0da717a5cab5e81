/* SPDX-License-Identifier: MIT */
/* Files whose name ends in .gz or .zst are packed while they are written. */
#ifndef TERMINAL_PACK_H
#define TERMINAL_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How much of a name is left without such an ending; all of it if it has none. */
size_t pack_stem(const char *path);
/* What is written to the file that is returned goes packed to `to`, which stays open when it is
 * closed. fclose fails if not all of it got there. NULL: no memory. */
FILE *pack_open(FILE *to, const char *path);

#endif
