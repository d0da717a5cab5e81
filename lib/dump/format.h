/* SPDX-License-Identifier: MIT */
/*
 * What the observers know, in the formats of memoir, pprof, jemalloc and gperftools. A *source* is
 * an observer that can be dumped. A writer walks its observer (lib/heap/track.h) while the program
 * goes on, allocates nothing, takes no lock and may run in any thread, but not twice at the same
 * time (dump.c has a lock for that).
 */
#ifndef DUMP_FORMAT_H
#define DUMP_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file/sink.h"

enum format_kind {
    FORMAT_CAPTURE,    /* ours: docs/FORMATS.md */
    FORMAT_PPROF,      /* profile.proto in gzip */
    FORMAT_JEMALLOC,   /* heap_v2 text */
    FORMAT_GPERFTOOLS, /* "heap profile:" text */
    FORMAT_COUNT
};

enum dump_source {
    SOURCE_HEAP,
    SOURCE_CPU,
    SOURCE_GROWTH, /* calls that made the heap larger: gperftools' format alone */
};

struct account; /* lib/alloc/alloc.h */

struct format_options {
    bool accum;         /* jemalloc: cumulative numbers, too */
    bool raw;           /* jemalloc: the recorded numbers, not adjusted to the reader's scaling */
    bool leaks;         /* capture: the last scan for lost blocks */
    bool since_mark;    /* CPU: what came since gperftools' profiler was started, not all */
    const char *reason; /* why this dump is made, in a few words; for captures and pprof's
                           comment */
    const struct account *account; /* capture and pprof: the allocator's counters of this moment */
};

/* 0 or an errno value; ENOTSUP if the source has no writer for the format. */
int format_write(enum dump_source source, enum format_kind kind,
                 const struct format_options *options, struct sink *sink);
/* ".memoir", ".pb.gz" or ".heap". */
const char *format_suffix(enum format_kind kind);

#endif
