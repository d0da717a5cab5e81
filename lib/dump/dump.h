/* SPDX-License-Identifier: MIT */
/*
 * Dumps: the profile written to a file at some moment. A dump is written under a temporary name
 * beside its target and renamed when it is complete; a symbolic link is never followed; a failure
 * is one line on standard error, is counted, and leaves nothing behind.
 *
 * memoir, jemalloc and gperftools have their own names and formats, so a *style* says how a dump is
 * made, and each trigger has one.
 */
#ifndef DUMP_DUMP_H
#define DUMP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dump/format.h"
#include "lib/dump/style.h"

struct print;

/* *style = *value, while no dump is made. */
void dump_style_set(struct dump_style *style, const struct dump_style *value);

/*
 * Writes one dump now. `path`: exactly that file, or NULL for the next name of the style. `words`
 * is the reason in words; NULL: those of `reason`. `name`, of DUMP_NAME_SIZE bytes or NULL, gets
 * the file's name. 0 or an errno value; an error has been reported on standard error.
 *
 * One dump is made at a time: calls wait for it, automatic dumps are skipped (EBUSY, without a
 * message). May run in a signal handler; inside the allocator it returns EDEADLK.
 */
int dump_write(const struct dump_style *style, enum dump_reason reason, const char *path,
               const char *words, char *name);
/* The same to an open descriptor, without names; DUMP_OUTSIDE: without a message. */
int dump_to_fd(const struct dump_style *style, enum dump_reason reason, int fd);
/* The capture of the run (lib/dump/capture_file.h): `dump_capture` begins it, `dump_mark` names a
 * moment. 0 or an errno value, and a line on standard error; ENOENT, without a message, if there is
 * no capture. A snapshot is a dump with DUMP_NAMES_CAPTURE. */
int dump_capture(const char *path);
int dump_mark(const char *name);
/* The same in an open file, which is duplicated; EBUSY if there is one. No message. `name`, of
 * DUMP_NAME_SIZE bytes, gets the kernel's name of the file. */
int dump_capture_fd(int fd, char *name);
/* Ends the capture; the program goes on. */
int dump_capture_stop(const struct dump_style *style);
/* The recorder file of the process, lib/dump/recorder_file.h: begins; what came or went by dlopen
 * and dlclose; the program ends, after `triggers_exit`. */
int dump_recorder(const char *path);
void dump_recorder_objects(void);
void dump_recorder_end(void);
/* The process is about to become one that may not make files where they are to be: a forked child
 * makes its own now. */
void dump_before_leaving(void);
/* The thread is about to wait for what may be long: a forked child that has no recorder file yet
 * (`mirror_child`) may make it now. */
void dump_before_sleep(void);
/* The process is about to change its root folder: makes recorder files for its children. If the
 * change fails, `dump_root_failed` is called with the result, and removes them. */
bool dump_before_root(void);
void dump_root_failed(bool made);
/* The program is to write such a file at its end: if it is killed, the tool writes it, from the
 * recorder file. `which`: RECORDER_TOLD_... of base/file/recorder_format.h; `path`: its name, or
 * NULL: the next one of the style; `style` NULL: no more. */
void dump_told(unsigned which, const struct dump_style *style, const char *path);
/* The cause of an error and the next step. `style`: the style that chose the name, or NULL. */
void dump_advice(struct print *out, const struct dump_style *style, int error);
/* The cause alone, for a caller that has a next step of its own. */
void dump_cause(struct print *out, int error);
/* Ends the log of blocks (lib/heap/block_log.h) and writes it as JSON. 0 or an errno value; EINVAL
 * if the log is not on. */
int dump_block_log(const char *path, const char *version, unsigned lg_sample);
/* The lost blocks of a scan, in gperftools' format. 0 or an errno value, without a message. */
struct leak_scan;
int dump_leaks(const char *path, const struct leak_scan *scan);
uint64_t dumps_written(void);
uint64_t dumps_failed(void);
/* Whether a dump could be written to that file: 0 or an errno value. `whole`, of DUMP_NAME_SIZE
 * bytes, gets its name from the root on, for the program may go to another folder. */
int dump_try(const char *path, char *whole);
/* What the last CPU profile in gperftools' format held: samples, and bytes before the mappings. */
struct dump_cpu_sums {
    uint64_t samples, bytes;
};
struct dump_cpu_sums dump_cpu_sums(void);

/*
 * Triggers. Each stays until it is removed; step 0 removes it. A trigger replaces the one of the
 * same kind and style; `style` must stay valid. `step` is in bytes; TIME: in milliseconds; SIGNAL:
 * the signal's number; FAILURE and EXIT: anything but 0. Without effect in AT_SECURE programs.
 * False: the table is full, or the signal has another handler.
 *
 * PEAK waits for growth by the step and by an eighth, so that start-up makes a few files and not
 * hundreds. ABOVE fires once for each crossing, and is ready again when the heap is an eighth
 * below.
 */
bool trigger_set(const struct dump_style *style, enum dump_reason kind, uint64_t step);
/* ABOVE at a share of the process's memory limit (memory_limit.h). False if there is no limit. */
bool trigger_percent(const struct dump_style *style, unsigned percent);
/* Checks the totals and makes the dumps that are due. Called outside of the allocator when
 * `totals_due` is true, and now and then. */
void triggers_run(void);
/* The profile was reset: so are the triggers. */
void triggers_reset(void);
/* An allocation failed: makes the dump of FAILURE triggers, the first time. */
void triggers_failure(void);
/* Whether there is any trigger. */
bool triggers_wanted(void);
/* The program ends: makes the dumps with DUMP_EXIT. `words`: how it ends, or NULL. */
void triggers_exit(const char *words);
/* A seccomp filter is about to deny `denied`, a sum of `enum confine`: no dump is under way when
 * this returns, and none begins if files are denied. */
void dumps_confine(uint32_t denied);
/* In a forked child. */
void dumps_recover(uint32_t parent_id);

#endif
