/* SPDX-License-Identifier: MIT */
/*
 * Where a profile goes while it is written: a buffer of the caller's in front of a descriptor or of
 * a function. The first failure is kept and everything after it is dropped, so writers need not
 * look at every step. No allocation; may run in a signal handler.
 */
#ifndef FILE_SINK_H
#define FILE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink {
    char *buffer;
    size_t size, used;
    int fd;                                                        /* or -1: */
    int (*write)(void *context, const void *bytes, size_t length); /* 0 or an errno value */
    void *context;
    int error;      /* 0, or the errno value of the first failure */
    uint64_t total; /* bytes taken so far */
};

void sink_to_fd(struct sink *sink, int fd, char *buffer, size_t size);
void sink_to_function(struct sink *sink, int (*write)(void *, const void *, size_t), void *context,
                      char *buffer, size_t size);
void sink_bytes(struct sink *sink, const void *bytes, size_t length);
void sink_text(struct sink *sink, const char *text);
/* As print_format (base/print.h); one call makes at most 512 bytes. */
void sink_format(struct sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Everything out. 0 or an errno value. */
int sink_flush(struct sink *sink);

#endif
