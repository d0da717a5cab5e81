/* SPDX-License-Identifier: MIT */
/*
 * Why a command failed, and what to do next. Written where the cause is known, passed up by
 * `return false`, printed once by tool/main.c. The statuses are the documented exit codes.
 */
#ifndef TERMINAL_ERROR_H
#define TERMINAL_ERROR_H

#include <stdbool.h>

enum error_status {
    ERROR_FOUND = 1, /* not an error: leaks, an exceeded limit or a difference were found */
    ERROR_USAGE = 2,
    ERROR_INPUT = 3,  /* something can't be read or written */
    ERROR_TARGET = 4, /* a process is gone or refuses */
    ERROR_NOT_EXECUTABLE = 126,
    ERROR_NOT_FOUND = 127,
};

struct error {
    enum error_status status;
    int code;        /* what a process refused with (base/attach_protocol.h); else 0 */
    char text[1024]; /* cause and evidence, one line without its end */
    char hint[1024]; /* the next step, a command where there is one; may be empty */
};

/* The one text that says so, for structures that carry a text of their own. */
extern const char error_out_of_memory[];

/* Leaks, an exceeded limit, a difference: ends the command with status 1 and prints nothing. */
bool error_found(struct error *error);
/* These return false, for `return error_set(...)`. */
bool error_set(struct error *error, enum error_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_memory(struct error *error); /* error_out_of_memory, ERROR_INPUT */
bool error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
