/* SPDX-License-Identifier: MIT */
/* See base/file/sink.h. May run in a signal handler. */
#include "base/file/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/os.h"
#include "base/print.h"

enum { LINE_SIZE = 512 };

static void start(struct sink *sink, char *buffer, size_t size);

void sink_to_fd(struct sink *sink, int fd, char *buffer, size_t size)
{
    start(sink, buffer, size);
    sink->fd = fd;
}

void sink_to_function(struct sink *sink, int (*write)(void *, const void *, size_t), void *context,
                      char *buffer, size_t size)
{
    start(sink, buffer, size);
    sink->write = write;
    sink->context = context;
}

static void start(struct sink *sink, char *buffer, size_t size)
{
    memset(sink, 0, sizeof *sink);
    sink->buffer = buffer;
    sink->size = size;
    sink->fd = -1;
}

static void out(struct sink *sink, const void *bytes, size_t length)
{
    if (sink->error != 0 || length == 0)
        return;
    sink->error = sink->write != NULL ? sink->write(sink->context, bytes, length)
                                      : os_write_whole(sink->fd, bytes, length);
}

void sink_bytes(struct sink *sink, const void *bytes, size_t length)
{
    if (sink->error != 0)
        return;
    sink->total += length;
    if (length > sink->size - sink->used) {
        sink_flush(sink);
        if (length >= sink->size) {
            out(sink, bytes, length);
            return;
        }
    }
    if (length > 0)
        memcpy(sink->buffer + sink->used, bytes, length);
    sink->used += length;
}

void sink_text(struct sink *sink, const char *text)
{
    sink_bytes(sink, text, strlen(text));
}

void sink_format(struct sink *sink, const char *format, ...)
{
    char line[LINE_SIZE];
    struct print print;
    va_list list;
    print_start(&print, line, sizeof line);
    va_start(list, format);
    print_list(&print, format, list);
    va_end(list);
    sink_bytes(sink, line, print_length(&print));
}

int sink_flush(struct sink *sink)
{
    out(sink, sink->buffer, sink->used);
    sink->used = 0;
    return sink->error;
}
