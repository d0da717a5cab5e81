/* SPDX-License-Identifier: MIT */
/*
 * Dumps: the profile in a file, at a moment that something decided on. A dump is written under a
 * temporary name beside its target and renamed when it is complete; a symbolic link is never
 * followed; a failure is one line on standard error, counted, and leaves nothing behind.
 *
 * The three families have their own names and formats, so a *style* says how a dump is made, and
 * each trigger has one.
 */
#ifndef DUMP_DUMP_H
#define DUMP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dump/format.h"
#include "lib/dump/style.h"

struct print;

/* *style = *value, between two dumps. */
void dump_style_set(struct dump_style *style, const struct dump_style *value);

/*
 * Writes one dump now. `path`: exactly that file, or NULL for the next name of the style. `words`
 * is the reason in words, or NULL for the reason's own. `name`, of DUMP_NAME_SIZE bytes or NULL,
 * gets the file's name. 0 or an errno value; what went wrong has been said on standard error.
 *
 * One dump is made at a time: calls wait for their turn, what is automatic is left out (EBUSY, and
 * nothing is said). May run in a signal handler; inside the allocator it is EDEADLK.
 */
int dump_write(const struct dump_style *style, enum dump_reason reason, const char *path,
               const char *words, char *name);
/* The same to an open descriptor, without names; DUMP_OUTSIDE: nothing is said. */
int dump_to_fd(const struct dump_style *style, enum dump_reason reason, int fd);
/* The capture of the run, lib/dump/capture_file.h: begins; a moment with a name. 0 or an errno
 * value, and a line on standard error; ENOENT, without a word, where there is no capture. A
 * snapshot is a dump with DUMP_NAMES_CAPTURE. */
int dump_capture(const char *path);
int dump_mark(const char *name);
/* What went wrong and what a person can do about it. `style`: whose name it was, or NULL. */
void dump_advice(struct print *out, const struct dump_style *style, int error);
/* What went wrong, for a caller that has a next step of its own. */
void dump_cause(struct print *out, int error);
/* Ends the log of blocks (lib/heap/block_log.h) and writes it as JSON. 0 or an errno value; EINVAL
 * if it does not run. */
int dump_block_log(const char *path, const char *version, unsigned lg_sample);
uint64_t dumps_written(void);
uint64_t dumps_failed(void);

/*
 * Triggers. Each is watched until it is removed; step 0 removes it. Numbers of one kind and one
 * style replace each other; the style must stay where it is. `step` is in bytes; TIME: in
 * milliseconds; SIGNAL: the signal's number; FAILURE and EXIT: anything but 0. Without effect in
 * AT_SECURE programs. False: no room for one more, or the signal has another handler.
 *
 * PEAK waits for growth by the step and by an eighth, so that start-up makes a few files and not
 * hundreds. ABOVE fires once for each crossing, and is ready again when an eighth below.
 */
bool trigger_set(const struct dump_style *style, enum dump_reason kind, uint64_t step);
/* ABOVE at a share of the memory that the process may have: memory_limit.h. False without a limit.
 */
bool trigger_percent(const struct dump_style *style, unsigned percent);
/* Looks at the totals and makes the dumps that are due. Called outside of the allocator when
 * `totals_due` is true, and now and then. */
void triggers_run(void);
/* The profile began anew: so do the triggers. */
void triggers_reset(void);
/* An allocation fails: the first time, the dump that was asked for. */
void triggers_failure(void);
/* Whether there is any trigger. */
bool triggers_wanted(void);
/* The program ends: dumps with DUMP_EXIT. `words`: how it ends, or NULL. */
void triggers_exit(const char *words);
/* A filter is about to deny this, a sum of `enum confine`: no dump is under way when this returns,
 * and none begins if files are denied. */
void dumps_confine(uint32_t denied);
/* In a forked child. */
void dumps_recover(uint32_t parent_id);

#endif
