/* SPDX-License-Identifier: MIT */
/*
 * Recorder files of programs that are to write a profile at their end and were not told to keep a
 * recorder file (option `recorder.end`): in memory, one a process, named after user and process. A
 * killed program leaves its file, for `memoir recover`; there are eight of them at most.
 */
#ifndef DUMP_RECORDER_KEPT_H
#define DUMP_RECORDER_KEPT_H

#include <stddef.h>
#include <stdint.h>

/* Of a file that no option of ours asked for, in memory (/dev/shm); the limit of the option
 * recorder is larger. */
enum { KEPT_BYTES = 16 << 20 };

/* Where this process's file is to be. */
void kept_name(char *path, size_t size);
/* Removes the oldest files of this user's programs that were killed, and of their children that
 * ended without a profile, so that there is room for one more. */
void kept_sweep(void);
/* Removes the file if it is that of this process, which has started another program since;
 * `ticks`: when it began. */
void kept_remove_own(const char *path, uint64_t ticks);

#endif
