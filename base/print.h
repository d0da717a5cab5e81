/* SPDX-License-Identifier: MIT */
/*
 * Text into a buffer of the caller's: the only way the library formats anything. No allocation, no
 * locale, no stdio; everything here may run in a signal handler. What does not fit is cut, never
 * written outside, and the print remembers it.
 *
 *     char buffer[200];
 *     struct print line;
 *     print_start(&line, buffer, sizeof buffer);
 *     print_format(&line, "memoir: double free of %p, ", block);
 *     print_size(&line, size);
 *     print_char(&line, '\n');
 *     message_flush(&line);
 *
 * Widths count bytes: the library writes ASCII.
 */
#ifndef BASE_PRINT_H
#define BASE_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Invariant: start <= at <= end; [start, at) is the text so far and has no terminator. */
struct print {
    char *start;
    char *at;
    char *end;
    bool cut; /* something did not fit since print_start or print_flush */
};

void print_start(struct print *print, char *buffer, size_t size);
size_t print_length(const struct print *print);

void print_char(struct print *print, char c);
void print_text(struct print *print, const char *text);
void print_bytes(struct print *print, const char *bytes, size_t length);
/* Bytes that came from outside: control characters and non-ASCII bytes become '?', and past
 * `length_max` the rest becomes "...". */
void print_clean(struct print *print, const char *bytes, size_t length, size_t length_max);

void print_unsigned(struct print *print, uint64_t value);
void print_signed(struct print *print, int64_t value);
/* Lower case, without 0x, with no leading zeros. */
void print_hex(struct print *print, uint64_t value);
/* value / 10^places with all its places: (1234, 2) is 12.34. */
void print_decimal(struct print *print, uint64_t value, unsigned places);
/* Three significant digits for people: "94 B", "1.31 GiB", "412 MiB". */
void print_size(struct print *print, uint64_t bytes);
/* Every byte, with the largest binary suffix that divides the value: "512K", "1000", "0". */
void print_size_exact(struct print *print, uint64_t bytes);

/* What printf makes of: %s %c %d %u %x %p %%, and the sizes l, ll and z of numbers. No widths: see
 * print_right. A NULL string is "(null)". */
void print_format(struct print *print, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void print_list(struct print *print, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

/* Columns: remember print_length() before printing a cell, then stretch what was printed since to
 * `width` with spaces before (print_right) or behind it (print_left). */
void print_right(struct print *print, size_t from, size_t width);
void print_left(struct print *print, size_t from, size_t width);

/* Makes the text a C string in its buffer and returns it; the last byte goes if it must. */
const char *print_string(struct print *print);
/* Writes the text to the descriptor and starts anew. Cut text ends in "...\n". */
void print_flush(struct print *print, int fd);

#endif
