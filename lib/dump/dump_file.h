/* SPDX-License-Identifier: MIT */
/*
 * A file that is either absent or complete: written under a temporary name in the folder of its
 * target, renamed at the end. A process that is killed before leaves ".memoir.PID.NUMBER.tmp",
 * which a later process removes. Called with the lock of dump.c held; may run in a signal handler.
 */
#ifndef DUMP_DUMP_FILE_H
#define DUMP_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/os.h"

/* 0 if the existing file may be replaced, or an errno value: a link is never followed, and a rename
 * over a device would remove the device. */
int dump_file_refused(enum os_file there);
/* Begins a file that will become `target`. Its descriptor or a negative errno. */
int dump_file_open(const char *target);
/* The same for a target that exists and is written to as it is: a device of characters, such as
 * /dev/null. `dump_file_finish` has nothing to rename then. */
int dump_file_open_stream(const char *target);
/* Renames it to `target`. Without `replace`, EEXIST if a file of that name exists: the temporary
 * file stays, for another target. 0 or an errno value, after which there is no temporary file. */
int dump_file_finish(const char *target, bool replace);
/* Removes the temporary file. */
void dump_file_abandon(void);
/* In a forked child: the file of another thread stays the parent's. */
void dump_file_recover(void);

/* Removes temporary files of killed processes in the folder of `target`. */
void dump_file_clean(const char *target);

/* The files that this process made and keeps. `dump_file_keep` adds one and removes the oldest of
 * the same `family` beyond `max` files or `bytes_max` in all; 0: no limit. */
void dump_file_keep(unsigned family, const char *path, uint64_t bytes, unsigned max,
                    uint64_t bytes_max);
void dump_file_keep_forget(void);

#endif
