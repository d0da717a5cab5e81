/* SPDX-License-Identifier: MIT */
/*
 * The files of one `memoir run`. A program and all that it starts write their captures, each its
 * own, into a folder of ours; the one with the largest heap is what the user gets, under a name
 * that tells what it is. Captures of processes that were killed are completed from their recorder
 * files (tool/record/shelf.h): by run, or if that is gone by `memoir recover`.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "tool/command/command.h"
#include "tool/process/process.h"
#include "tool/record/guard_report.h"
#include "tool/record/shelf.h"
#include "tool/record/summary.h"
#include "tool/terminal/terminal.h"

/* The name of the capture of a recording, in its folder; further processes add to it. */
#define RECORD_CAPTURE "run.memoir"

struct record {
    struct shelf_about about; /* what the recording is, and where its files are */
    int lock;                 /* on the shelf, while this process will finish the recording */
    unsigned rows;            /* --rows, or 0 */
    bool silent;              /* no summary, warnings only */
    bool timed;               /* --cpu */
    bool locked;              /* waits for locks are counted */
    bool judged;              /* --leaks */
    pid_t background;         /* a process that went on when the program had ended, or 0 */
    bool scanned,
        ended; /* when it is finished: there was a scan for lost blocks; the end was recorded */
    uint64_t oom_before;                     /* `oom_kills` at the start */
    const struct suppressions *suppressions; /* of lost blocks that are no finding; or NULL */
};

/* Makes the folder. */
bool record_start(struct record *record, const struct arguments *arguments, struct error *error);
/* Takes the folder itself where --output is a link to one, as `record_start` does: for a recording
 * whose --output is given later. */
void record_resolve(struct record *record);
/* What the library must know, as options. */
const char *record_options(const struct record *record, char *text, size_t size);
/* Says that a process goes on in the background, and that we wait for its end. */
void record_announce(void *record, pid_t pid);
/* Leaves the folder to the processes that go on, and says where it is. */
void record_leave(struct record *record);
/* The program runs as process `pid` and is left alone. */
void record_detach(struct record *record, pid_t pid);
/* Prints the summary, puts the file in its place and removes the folder. True if a scan at the end
 * (--leaks) found lost blocks, in whichever process. */
bool record_finish(struct record *record, const struct child *child);
/* The same; `path`, of PATH_MAX bytes, gets the name of the file, or "". */
bool record_finish_as(struct record *record, const struct child *child, char *path);
/* Removes the folder. */
void record_drop(struct record *record);

#endif
