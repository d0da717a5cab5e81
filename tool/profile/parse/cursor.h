/* SPDX-License-Identifier: MIT */
/*
 * For readers of text: a place in bytes that may hold anything. What takes something moves on
 * behind it, and leaves the place where it was when it is not there.
 */
#ifndef PROFILE_PARSE_CURSOR_H
#define PROFILE_PARSE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const char *at, *end;
};

/* The next line, without its end. */
bool cursor_line(struct cursor *file, struct cursor *line);
size_t cursor_left(const struct cursor *cursor);
void cursor_spaces(struct cursor *cursor); /* and tabs */
bool cursor_take(struct cursor *cursor, const char *text);
/* Behind blanks; base 10 or 16, with 0x or without. False also when it is too large. */
bool cursor_number(struct cursor *cursor, unsigned base, uint64_t *value);
/* Up to `stop` or the end; moves behind `stop`. */
struct cursor cursor_until(struct cursor *cursor, char stop);
/* The last place where `text` is, or NULL. */
const char *cursor_last(const struct cursor *cursor, const char *text);
void cursor_trim(struct cursor *cursor); /* blanks on both sides */
bool cursor_is(const struct cursor *cursor, const char *text);

#endif
