/* SPDX-License-Identifier: MIT */
/*
 * The face of jemalloc: what programs and scripts made for it find here. jemalloc_conf.h reads its
 * options, mallctl.h answers its questions, jemalloc_stats.c prints its statistics.
 */
#ifndef JEMALLOC_JEMALLOC_H
#define JEMALLOC_JEMALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* jemalloc's form, MAJOR.MINOR.BUGFIX-REVISIONS-gID: programs compare the first numbers. */
#define JEMALLOC_COMPATIBLE_VERSION "5.3.0-0-gmemoir" MEMOIR_VERSION

/* After the options of memoir and before the allocator: reads the options and lets them change
 * `config`. */
void jemalloc_init(void);
/* The allocator is up. */
void jemalloc_ready(void);
/* The program ends. May end it with another exit code. */
void jemalloc_exit(void);
/* The heap of the process is another library's, and so are the options. */
void jemalloc_disown(void);

/* What prof.* changes while a program runs. */
struct jemalloc_state {
    bool gdump;
    uint64_t interval_bytes; /* 0: off */
};
extern struct jemalloc_state jemalloc_state;

/* Whether jemalloc's own library is behind ours, with which the program was linked then, and is
 * later than 5.3.0. Errors and messages are that release's. */
bool jemalloc_is_later(void);
/* Dumps, unless the prefix is empty. 0 or an errno value. */
int jemalloc_dump(const char *path);
void jemalloc_set_gdump(bool on);
/* The log of ended blocks. False if it already runs, or does not; or if it can't be written. */
bool jemalloc_log_start(const char *name);
bool jemalloc_log_stop(void);
/* The last recorded blocks, as JSON; `write` NULL: as a message. 0 or an errno value. */
int jemalloc_recent_write(void (*write)(void *opaque, const char *text), void *opaque);
bool jemalloc_set_prefix(const char *prefix);
/* Mean bytes between samples for a value of lg_prof_sample. */
int64_t jemalloc_rate(uint64_t lg_sample);

#endif
