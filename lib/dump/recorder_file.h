/* SPDX-License-Identifier: MIT */
/*
 * The recorder file of the process (base/file/recorder_format.h): it is made, named and filled with
 * what is known; from then on lib/watch/mirror.h and its users keep it up to date. Its descriptor
 * stays open, out of the way, for the file to grow; a lock of fcntl on it says that the process
 * lives.
 *
 * A forked child has none of its own until it records something. Called with the lock of dump.c.
 */
#ifndef DUMP_RECORDER_FILE_H
#define DUMP_RECORDER_FILE_H

#include <stdbool.h>

/* 0 or an errno value. ENOTSUP: a file system that can't promise space. */
int recorder_file_begin(const char *path);
const char *recorder_file_name(void);
/* The program is to write a profile at its end, or a client has begun a recording: where there is
 * no file yet, makes one that goes when the program ends in order. Nothing is said if it can't. */
void recorder_file_keep(void);
/* Makes the file of a forked child that has recorded something, and tells the file what has been
 * loaded or unloaded. 0 or an errno value. */
int recorder_file_look(void);
/* Whether a forked child is to have one and has none yet; makes it, without waiting for anything to
 * be recorded. */
bool recorder_file_waits(void);
int recorder_file_now(void);
/* Such a child is about to sleep, beyond the time until which its file is not wanted: makes it if
 * the child is a daemon, or that time is over and it has recorded something. */
int recorder_file_sleep(void);
/* The process is about to change its root folder: makes files for its children. Whether there are
 * any; they go by `ahead_drop` if the change fails. */
bool recorder_file_leave(void);
/* Something was loaded or unloaded. Any thread, without the lock. */
void recorder_file_objects(void);
/* A moment with a name. */
struct account_sum;
void recorder_file_mark(const char *name, const struct account_sum *total);
/* The capture of the process is in this file now; NULL: it has none any more. */
void recorder_file_capture(const char *path);
/* The program was told to write such a file at its end; `which` is one of RECORDER_TOLD_..., `path`
 * its name, or NULL: the next one of the style. `style` NULL: it was not, or will not any more. */
struct dump_style;
void recorder_file_told(unsigned which, const struct dump_style *style, const char *path);
/* The program ends in order. If the capture has all of it, the file goes. */
void recorder_file_end(void);
/* In a forked child, without the lock, before anything else. */
void recorder_file_forked(void);

#endif
