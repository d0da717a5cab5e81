/* SPDX-License-Identifier: MIT */
/* How a dump is made: its source, format and name. memoir, jemalloc and gperftools have a style
 * each. */
#ifndef DUMP_STYLE_H
#define DUMP_STYLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "lib/dump/format.h"

enum dump_names {
    DUMP_NAMES_MEMOIR,     /* PREFIX-YYYYMMDD-HHMMSS-PID-SEQ-REASON-LIVE.SUFFIX */
    DUMP_NAMES_JEMALLOC,   /* PREFIX.PID.SEQ.iN.heap, .mN. .uN. .f. */
    DUMP_NAMES_GPERFTOOLS, /* PREFIX.NNNN.heap */
    DUMP_NAMES_CAPTURE,    /* no file of its own: a snapshot in the capture of the run */
    DUMP_NAMES_RECORDER,   /* no dump: the recorder file */
};

/* Why a dump is made: the word in memoir's names, and the letter in jemalloc's. A new one is a row
 * here; if it is a limit of the heap that is reached, also one of `kinds` in triggers.c. */
#define DUMP_REASONS_ALL(X)                                                              \
    X(CALL, "call", 'm')                                                                 \
    X(ALLOCATED, "allocated", 'i') /* `step` bytes were allocated since the last dump */ \
    X(FREED, "freed", 'i')                                                               \
    X(IN_USE, "growth", 'u') /* the high-water mark rose by `step` */                    \
    X(PEAK, "peak", 'u')     /* a new maximum, higher by `step` */                       \
    X(TIME, "time", 'i')                                                                 \
    X(ABOVE, "above", 'u')     /* a threshold was crossed */                             \
    X(FAILURE, "failure", 'm') /* an allocation failed */                                \
    X(SIGNAL, "signal", 'm')                                                             \
    X(EXIT, "exit", 'f')                                                                 \
    X(OUTSIDE, "outside", 'm') /* the control channel asked */

#define DUMP_REASON(id, word, letter) DUMP_##id,
enum dump_reason { DUMP_REASONS_ALL(DUMP_REASON) DUMP_REASONS };
#undef DUMP_REASON

enum { DUMP_NAME_SIZE = CONFIG_PATH_SIZE + 128 };

struct dump_style {
    enum dump_source source;
    enum dump_names names;
    enum format_kind format;
    struct format_options options;
    char prefix[CONFIG_PATH_SIZE]; /* may hold a folder; empty: the program's name */
    unsigned keep;                 /* number of this process's files to keep; 0: all */
    uint64_t keep_bytes;           /* and their total size; 0: any */
    bool pid_namespace;            /* jemalloc's names: the namespace before the pid */
    int owner;                     /* gperftools' names: the process whose names have the plain
                                      prefix; other processes, such as a forked child, add their
                                      id */
    bool aborts;                   /* a dump that was not asked for by a call, and fails, ends the
                                      program: jemalloc's option abort */
    /* A function of the program's that gets the name of each file, or NULL. No lock is held. */
    void (*done)(const char *name);
    void (*run)(void); /* called instead of writing a file, or NULL. No lock is held. */
    bool announce;     /* "Dumping heap profile to FILE (REASON)" on standard error */
};

#endif
