/* SPDX-License-Identifier: MIT */
/*
 * The file .NAME.paths beside a recorder file NAME (struct recorder_paths): where the tool may
 * write for the process. It is made anew at each change, closed at once and never mapped, so that a
 * process can name such files only as long as it has the rights of its start.
 *
 * Called with the lock of dump.c.
 */
#ifndef DUMP_RECORDER_PATHS_H
#define DUMP_RECORDER_PATHS_H

#include "base/file/recorder_format.h"

/* What the head of the file says, in place of what was there; no file where it names none. If the
 * file can't be made, it stays as it was. */
void paths_write(const char *recorder, const struct recorder_head *head);
void paths_remove(const char *recorder);

#endif
