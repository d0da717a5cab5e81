/* SPDX-License-Identifier: MIT */
/* See base/file/gzip.h; RFC 1951 and 1952. */
#include "base/file/gzip.h"

#include "base/file/crc.h"

enum { STORED_MAX = 65535 };

static void little(uint8_t *at, uint32_t value, unsigned bytes);
static void block(struct sink *out, const void *bytes, uint32_t length, bool last);
static int stored(void *context, const void *bytes, size_t length);

void gzip_start(struct gzip *gzip, struct sink *out, char *buffer, size_t size)
{
    /* deflate, no name, no time, made on Unix */
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    sink_to_function(&gzip->sink, stored, gzip, buffer, size);
    gzip->out = out;
    gzip->crc = 0;
    gzip->size = 0;
    sink_bytes(out, head, sizeof head);
}

void gzip_end(struct gzip *gzip)
{
    uint8_t tail[8];
    sink_flush(&gzip->sink);
    block(gzip->out, "", 0, true);
    little(tail, gzip->crc, 4);
    little(tail + 4, gzip->size, 4);
    sink_bytes(gzip->out, tail, sizeof tail);
}

static void little(uint8_t *at, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* A stored block: last or not, its length, and that inverted. */
static void block(struct sink *out, const void *bytes, uint32_t length, bool last)
{
    uint8_t head[5] = {last};
    little(head + 1, length, 2);
    little(head + 3, ~length, 2);
    sink_bytes(out, head, sizeof head);
    sink_bytes(out, bytes, length);
}

static int stored(void *context, const void *bytes, size_t length)
{
    struct gzip *gzip = context;
    const char *at = bytes;
    gzip->crc = crc_add(gzip->crc, bytes, length);
    gzip->size += (uint32_t)length;
    while (length > 0) {
        size_t part = length < STORED_MAX ? length : STORED_MAX;
        block(gzip->out, at, (uint32_t)part, false);
        at += part;
        length -= part;
    }
    return gzip->out->error;
}
