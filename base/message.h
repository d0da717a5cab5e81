/* SPDX-License-Identifier: MIT */
/*
 * Messages to users, on standard error: the only way in which the library says something unasked. A
 * program may close descriptor 2 and get a file of its own under that number, so a message is
 * written only where it does no harm (docs/COMPATIBILITY.md has the rule). Losing a message is
 * better than damaging a file. The output of calls such as malloc_stats is not a message: it goes
 * to descriptor 2 whatever that is, as in libc.
 *
 * All of this may run in a signal handler.
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"

/* Remembers what standard error is: called once, before the program's own code runs. Without this
 * call every message is written. */
void message_init(void);
/* The program has made another file its standard error: that one will do, too. */
void message_redirected(void);
void message_write(const char *text, size_t length);
/* Writes the text and starts anew, as print_flush does. */
void message_flush(struct print *print);
/* A message of at most MESSAGE_SIZE bytes. Takes as much stack: not for the middle of malloc. */
enum { MESSAGE_SIZE = 2048 };
void message_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_list(const char *format, va_list list) __attribute__((format(printf, 1, 0)));
/* Whether the descriptor is the standard error that the program was started with. */
bool message_is_first(int fd);

#endif
