/* SPDX-License-Identifier: MIT */
/*
 * Messages for people, on standard error: the only way in which the library says something of its
 * own accord. A program may close descriptor 2 and get a file of its own under that number, so a
 * message is written only where it does no harm (docs/COMPATIBILITY.md has the rule). To lose a
 * message is better than to damage a file. What a program asks for by a call, such as malloc_stats,
 * is no message: it goes to descriptor 2 whatever that is, as libc does it.
 *
 * All of this may run in a signal handler.
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"

/* Remembers what standard error is: once, before the program's own code runs. Without that every
 * message is written. */
void message_init(void);
void message_write(const char *text, size_t length);
/* Writes the text and starts anew, as print_flush does. */
void message_flush(struct print *print);
/* Whether the descriptor is the standard error that the program was started with. */
bool message_is_first(int fd);

#endif
