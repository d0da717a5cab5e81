/* SPDX-License-Identifier: MIT */
/* See lib/dump/format.h: a new format is a new file and a row here. */
#include "lib/dump/format.h"

#include "lib/dump/format_parts.h"

static const struct {
    int (*write)(const struct format_options *options, struct sink *sink);
    const char *suffix;
} formats[] = {
    [FORMAT_CAPTURE] = {format_capture, ".memoir"},
    [FORMAT_PPROF] = {format_pprof, ".pb.gz"},
    [FORMAT_JEMALLOC] = {format_jemalloc, ".heap"},
    [FORMAT_GPERFTOOLS] = {format_gperftools, ".heap"},
};

int format_write(enum format_kind kind, const struct format_options *options, struct sink *sink)
{
    formats[kind].write(options, sink);
    return sink_flush(sink);
}

const char *format_suffix(enum format_kind kind)
{
    return formats[kind].suffix;
}
