/* SPDX-License-Identifier: MIT */
/*
 * The capture of the whole run (option `capture`): a file to which snapshots are appended. It can
 * be read up to its last complete record, however the program ends. Called with the lock of dump.c
 * held.
 *
 * The file is locked while its process lives. If the name is locked, this process is a child of
 * that one or a second copy of the program: where the option says run.memoir, it writes
 * run-PID.memoir. A capture without a lock is from an earlier run and is replaced. Any other file
 * is left alone, and there is no capture.
 *
 * A capture can also begin later, in a file that a client of the control channel has opened. That
 * one ends with its process: children of it have none.
 */
#ifndef DUMP_CAPTURE_FILE_H
#define DUMP_CAPTURE_FILE_H

#include <stdbool.h>

/* Each returns 0 or an errno value, ENOENT if there is no capture. After another error the capture
 * has ended. */
int capture_file_begin(const char *path);
/* In a file that is open already and empty; `fd` is duplicated. EBUSY: there is a capture. */
int capture_file_adopt(int fd);
int capture_file_snapshot(const char *reason, bool last);
int capture_file_mark(const char *name);
/* Whether a snapshot is to be taken for no other reason than that time has passed. */
bool capture_file_due(void);
/* In a forked child: begins its file now. */
int capture_file_now(void);
/* In a forked child: the next call begins a file of its own. */
void capture_file_forked(void);
/* Whether it has begun and not ended; whether the last call wrote the end of it. */
bool capture_file_open(void);
bool capture_file_complete(void);
/* Whether it lies beside the recorder file, without which `memoir run` would not find it. */
bool capture_file_beside(void);
/* Whether it is a client's, by `capture_file_adopt`. */
bool capture_file_adopted(void);
/* A client ended it, and the program goes on: `capture_file_complete` is false again, so that the
 * recorder file stays, with what comes after. */
void capture_file_stopped(void);
/* The name of the file, or of the file that could not be opened. */
const char *capture_file_name(void);

#endif
