/* SPDX-License-Identifier: MIT */
/*
 * A file that is either absent or complete: written under a temporary name in the folder of its
 * target, renamed at the end. Whoever is killed meanwhile leaves ".memoir.PID.NUMBER.tmp", which a
 * later process removes. Called with the lock of dump.c, may run in a signal handler.
 */
#ifndef DUMP_DUMP_FILE_H
#define DUMP_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/os.h"

/* 0 if what is there may be replaced, or an errno value: a link is never followed, and a rename
 * over a device would be the end of the device. */
int dump_file_refused(enum os_file there);
/* Begins a file that will be `target`. Its descriptor or a negative errno. */
int dump_file_open(const char *target);
/* Gives it its name. Without `replace`, EEXIST if there is a file of that name: then the temporary
 * one waits for another target. 0 or an errno value, after which there is no temporary file. */
int dump_file_finish(const char *target, bool replace);
/* Removes it. */
void dump_file_abandon(void);
/* In a forked child: another thread's file stays the parent's. */
void dump_file_recover(void);

/* Removes what killed processes left in the folder of `target`. */
void dump_file_clean(const char *target);

/* The files that this process made and keeps. `dump_file_keep` notes one more and removes the
 * oldest of the same `family` beyond `most` files or `most_bytes` in all; 0: no limit. */
void dump_file_keep(unsigned family, const char *path, uint64_t bytes, unsigned most,
                    uint64_t most_bytes);
void dump_file_keep_forget(void);

#endif
