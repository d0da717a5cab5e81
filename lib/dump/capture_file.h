/* SPDX-License-Identifier: MIT */
/*
 * The capture of the whole run (option `capture`): a file that grows by a snapshot now and then and
 * reads up to its last whole record, however the program ends. Called with the lock of dump.c.
 *
 * The file is locked while its process lives. Who finds the name locked is a child of that process
 * or a second copy of the program, and writes run-PID.memoir where the option says run.memoir; a
 * capture that nobody has locked is an earlier run's and is replaced. Any other file stays, and
 * there is no capture.
 */
#ifndef DUMP_CAPTURE_FILE_H
#define DUMP_CAPTURE_FILE_H

#include <stdbool.h>

/* Each: 0 or an errno value, ENOENT where there is no capture. After another error there is none
 * any more. */
int capture_file_begin(const char *path);
int capture_file_snapshot(const char *reason, bool last);
int capture_file_mark(const char *name);
/* In a forked child: its own file, from the next call on. */
void capture_file_forked(void);
/* The file's name, or that of the one that could not be. */
const char *capture_file_name(void);

#endif
