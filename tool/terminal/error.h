/* SPDX-License-Identifier: MIT */
/*
 * What went wrong in a command, and what to do next. Written where it is understood, carried up by
 * `return false`, printed once by tool/main.c. The statuses are the documented exit codes.
 */
#ifndef TERMINAL_ERROR_H
#define TERMINAL_ERROR_H

#include <stdbool.h>

enum error_status {
    ERROR_FOUND = 1, /* no error: what was looked for is there, and the output says it */
    ERROR_USAGE = 2,
    ERROR_INPUT = 3,  /* something can't be read or written */
    ERROR_TARGET = 4, /* a process is gone or refuses */
    ERROR_NOT_EXECUTABLE = 126,
    ERROR_NOT_FOUND = 127,
};

struct error {
    enum error_status status;
    char text[1024]; /* cause and evidence, one line without its end */
    char hint[1024]; /* the next step, a command where there is one; may be empty */
};

/* Leaks, a limit that was passed, a difference: ends the command with status 1, without a word. */
bool error_found(struct error *error);
/* Both return false, for `return error_set(...)`. */
bool error_set(struct error *error, enum error_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_hint(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
