/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/format.h. A new format is a suffix and a new file; a new source is a row of writers.
 */
#include "lib/dump/format.h"

#include <errno.h>

#include "lib/dump/format_inside.h"

typedef int writer(const struct format_options *options, struct sink *sink);

static writer *const writers[][FORMAT_COUNT] = {
    [SOURCE_HEAP] = {[FORMAT_CAPTURE] = format_capture,
                     [FORMAT_PPROF] = format_pprof,
                     [FORMAT_JEMALLOC] = format_jemalloc,
                     [FORMAT_GPERFTOOLS] = format_gperftools},
    [SOURCE_CPU] = {[FORMAT_CAPTURE] = format_capture,
                    [FORMAT_PPROF] = format_pprof_cpu,
                    [FORMAT_GPERFTOOLS] = format_cpu},
    [SOURCE_GROWTH] = {[FORMAT_GPERFTOOLS] = format_growth},
};

static const char *const suffixes[FORMAT_COUNT] = {
    [FORMAT_CAPTURE] = ".memoir",
    [FORMAT_PPROF] = ".pb.gz",
    [FORMAT_JEMALLOC] = ".heap",
    [FORMAT_GPERFTOOLS] = ".heap",
};

int format_write(enum dump_source source, enum format_kind kind,
                 const struct format_options *options, struct sink *sink)
{
    writer *write = writers[source][kind];
    if (write == NULL)
        return ENOTSUP;
    write(options, sink);
    return sink_flush(sink);
}

const char *format_suffix(enum format_kind kind)
{
    return suffixes[kind];
}
