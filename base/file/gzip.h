/* SPDX-License-Identifier: MIT */
/*
 * A gzip file of blocks that are stored, not compressed: some readers require gzip, but compressing
 * would cost the profiled program time. Bytes written to `gzip.sink` go to the sink behind it. No
 * allocation; may run in a signal handler.
 */
#ifndef FILE_GZIP_H
#define FILE_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/file/sink.h"

struct gzip {
    struct sink sink; /* write here */
    struct sink *out;
    uint32_t crc, size;
};

/* Every flush of the buffer makes a block of its own, with 5 bytes before it. */
void gzip_start(struct gzip *gzip, struct sink *out, char *buffer, size_t size);
/* The last bytes; `out` is not flushed. */
void gzip_end(struct gzip *gzip);

#endif
