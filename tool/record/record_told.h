/* SPDX-License-Identifier: MIT */
/* What a user is told of a recording when the program has ended. */
#ifndef RECORD_RECORD_TOLD_H
#define RECORD_RECORD_TOLD_H

#include <stdio.h>

#include "tool/record/largest.h"
#include "tool/record/record.h"

/* The summary. */
void told_print(const struct record *record, const struct child *child,
                const struct largest *largest);
/* Why there is no capture: as much as can be told from outside. */
void told_nothing(const struct record *record, const struct child *child);
/* The file, and `others` beside it; what to ask next. */
void told_file(const struct record *record, const char *path, size_t others);
/* Lost blocks in `count` other recordings, one of them of process `pid`, which are `kept` where
 * --output said. */
void told_lost_beside(size_t count, int64_t pid, bool kept);
/* The words of a command, cut to one line. */
void told_command(FILE *out, const char *command);
/* The part of `path` behind the current folder; all of it if it lies elsewhere. */
const char *told_path(const char *path);

#endif
