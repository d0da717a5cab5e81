/* SPDX-License-Identifier: MIT */
/*
 * What a reader is given, and how it refuses: the whole file in memory, what was asked for, and an
 * error with the place in the bytes.
 */
#ifndef PROFILE_PARSE_READ_INPUT_H
#define PROFILE_PARSE_READ_INPUT_H

#include "tool/profile/profile.h"

struct read_options {
    const char *at;     /* the moment, as read_moment takes it */
    const char *thread; /* of jemalloc's dumps: this thread only; NULL: all */
    bool pins;          /* of captures: what keeps memory in use, too */
    bool raw;           /* leave sampled numbers as they are in the file */
};

struct read_error {
    uint64_t offset; /* in the (unpacked) bytes */
    bool asked;      /* the file is fine: what was asked for is not in it */
    char reason[400];
};

/* The whole input; `bytes[size]` is readable and 0, for readers of text. */
struct read_input {
    const char *name; /* for messages */
    const char *bytes;
    size_t size;
    struct read_options options;
    bool pages; /* a reader may give back pages that it is done with (paged_release) */
};

/* What a value of --at says, whatever is in the file. */
enum read_moment {
    MOMENT_END, /* also NULL and "" */
    MOMENT_PEAK,
    MOMENT_NUMBER, /* of a snapshot */
    MOMENT_TIME,   /* since the start, in ms */
    MOMENT_UNKNOWN,
};

/* *value: the number or the time, else 0. */
enum read_moment read_moment(const char *at, uint64_t *value);

/* For readers: "90s", "1m30s", "1.5h", "250ms". False: it is no such time. */
bool read_time(const char *text, uint64_t *time_ms);
/* For readers: false, and the error is filled in. */
bool read_lacks(struct read_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool read_refuse(struct read_error *error, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* At a place in the input. */
bool read_refuse_at(struct read_error *error, const struct read_input *input, const char *at,
                    const char *reason);

#endif
