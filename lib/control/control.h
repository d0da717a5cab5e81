/* SPDX-License-Identifier: MIT */
/*
 * What can be asked of the profiler while a program runs: start, stop, rate, reset, options. The
 * calls of memoir.h, mallctl, gperftools' functions and the socket (`control_command`) all make
 * these changes here. A dump in the style of another library is made by its face with `dump_write`;
 * one for a signal or a limit is made by lib/dump/triggers.c, when a thread leaves the allocator.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/sink.h"
#include "lib/control/leaks.h"
#include "lib/control/leaks_by_stack.h"
#include "lib/control/leaks_declared.h"
#include "lib/control/leaks_name.h"
#include "lib/dump/dump.h"

/* The styles of memoir, jemalloc and gperftools, set up at start and changed by their faces. */
extern struct dump_style control_memoir, control_jemalloc, control_gperftools;

/* Turns heap profiling on at `rate` (mean bytes; 0: every block), or at the last rate if it is
 * negative. */
void control_start(int64_t rate);
void control_stop(void);
bool control_active(void);
/* The current rate, or the one that a start would use. */
int64_t control_rate(void);
void control_set_rate(int64_t rate);
void control_reset(void);
/* Sampling in the calling thread alone. */
void control_thread_active(bool active);
bool control_thread_is_active(void);
/* A dump in our own style. `path`: exactly that file, or NULL for the next name, which `name` gets
 * (DUMP_NAME_SIZE bytes, or NULL). 0 or an errno value, and a line on standard error. */
int control_dump(enum dump_reason reason, const char *path, char *name);

/* The format for a value of dump.format. */
enum format_kind control_format(unsigned word);
/* The capture: a snapshot now; a named moment. 0, or ENOENT if there is none. */
int control_snapshot(enum dump_reason reason, const char *words);
int control_mark(const char *name);
/* Begins a capture in an open file, whose descriptor is duplicated; EBUSY if there is a capture.
 * Ends the capture with a last snapshot; ENOENT if there is none. */
int control_record(int fd);
int control_record_stop(void);

/* The CPU profile: at a rate, 0 for the last one (at first the option cpu.rate); 0 or an errno
 * value. Its dump, as control_dump. */
int control_cpu_start(unsigned rate);
void control_cpu_stop(void);
int control_cpu_dump(enum dump_reason reason, const char *path, char *name);
/* At start, when threads can be. */
void control_cpu_init(void);

/* Waits for locks are counted. 0; ENOMEM before the library's start; ENOSYS if references can't be
 * redirected; EAGAIN if the program's threads are not from pthread_create. */
int control_locks_start(void);
void control_locks_stop(void);
/* As `control_cpu_init`. */
void control_locks_init(void);

/* The options that can change while the program runs: each row applies one from `config`. */
struct control_row {
    const char *key;
    void (*apply)(void);
    bool at_start; /* applied at start, too; the others take effect by then without it */
};
extern const struct control_row control_rows[];
extern const size_t control_rows_count;

/* One line of the protocol, "verb argument...", as memoir ctl sends it; the answer, text, goes to
 * `sink`. `fd`: a file that the client passed along, or -1. 0 or an errno value. */
int control_command(const char *line, size_t length, int fd, struct sink *sink);
/* Whether the command goes on using `fd` after its answer: it must be run by a thread with the
 * program's table of descriptors. */
bool control_keeps_file(const char *line, size_t length);

#endif
