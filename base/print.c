/* SPDX-License-Identifier: MIT */
/*
 * The bounded formatter. Every function goes down to print_bytes or print_char, the two places that
 * know the bound. May run in a signal handler.
 */
#include "base/print.h"

#include <string.h>

#include "base/os.h"

enum {
    DIGITS_MAX = 20, /* of 2^64 */
};

static void digits(struct print *print, uint64_t value, unsigned base, unsigned length_min);
static const char *format_one(struct print *print, const char *format, va_list *list);
static void stretch(struct print *print, size_t from, size_t width, bool before);

void print_start(struct print *print, char *buffer, size_t size)
{
    print->start = buffer;
    print->at = buffer;
    print->end = buffer + size;
    print->cut = false;
}

size_t print_length(const struct print *print)
{
    return (size_t)(print->at - print->start);
}

void print_char(struct print *print, char c)
{
    if (print->at == print->end)
        print->cut = true;
    else
        *print->at++ = c;
}

void print_text(struct print *print, const char *text)
{
    print_bytes(print, text, strlen(text));
}

void print_bytes(struct print *print, const char *bytes, size_t length)
{
    size_t room = (size_t)(print->end - print->at);
    if (length > room) {
        print->cut = true;
        length = room;
    }
    if (length == 0)
        return;
    memcpy(print->at, bytes, length);
    print->at += length;
}

void print_clean(struct print *print, const char *bytes, size_t length, size_t length_max)
{
    bool longer = length > length_max;
    for (size_t i = 0; i < (longer ? length_max : length); i++)
        print_char(print, bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '?');
    if (longer)
        print_text(print, "...");
}

void print_unsigned(struct print *print, uint64_t value)
{
    digits(print, value, 10, 1);
}

void print_signed(struct print *print, int64_t value)
{
    if (value < 0)
        print_char(print, '-');
    /* Negated as unsigned: INT64_MIN has no positive twin. */
    digits(print, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, 1);
}

void print_hex(struct print *print, uint64_t value)
{
    digits(print, value, 16, 1);
}

void print_decimal(struct print *print, uint64_t value, unsigned places)
{
    uint64_t one = 1;
    for (unsigned i = 0; i < places; i++)
        one *= 10;
    digits(print, value / one, 10, 1);
    if (places == 0)
        return;
    print_char(print, '.');
    digits(print, value % one, 10, places);
}

void print_size(struct print *print, uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    unsigned unit = 0; /* 0: bytes, then 1 + the index into `units` */
    unsigned places = 0;
    uint64_t scaled = bytes; /* the value in 10^-places units */

    while (unit < 6 && (bytes >> (10 * unit)) >= 1024)
        unit++;
    while (unit > 0) {
        /* The low bits of exbibytes are dropped, so that the products stay inside 64 bits. */
        unsigned dropped = unit == 6 ? 10 : 0;
        unsigned shift = 10 * unit - dropped;
        uint64_t value = bytes >> dropped;
        uint64_t whole = value >> shift;
        uint64_t rest = value & (((uint64_t)1 << shift) - 1);
        uint64_t one = whole < 10 ? 100 : whole < 100 ? 10 : 1;
        scaled = whole * one + ((rest * one + ((uint64_t)1 << (shift - 1))) >> shift);
        places = one == 100 ? 2 : one == 10 ? 1 : 0;
        if (scaled >= 1000 && places > 0) { /* 9.996 became 10.00 */
            scaled /= 10;
            places--;
        }
        if (scaled < 1024 || places > 0 || unit == 6)
            break;
        unit++; /* 1023.9 KiB became 1024 */
    }
    print_decimal(print, scaled, places);
    print_char(print, ' ');
    if (unit > 0) {
        print_char(print, units[unit - 1]);
        print_char(print, 'i');
    }
    print_char(print, 'B');
}

void print_size_exact(struct print *print, uint64_t bytes)
{
    static const char units[] = "KMGT";
    unsigned unit = 0;
    while (unit < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    print_unsigned(print, bytes);
    if (unit > 0)
        print_char(print, units[unit - 1]);
}

void print_format(struct print *print, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_list(print, format, list);
    va_end(list);
}

void print_list(struct print *print, const char *format, va_list list)
{
    va_list own; /* what a parameter of this type points to differs between machines */
    va_copy(own, list);
    while (*format) {
        if (*format == '%')
            format = format_one(print, format + 1, &own);
        else
            print_char(print, *format++);
    }
    va_end(own);
}

void print_right(struct print *print, size_t from, size_t width)
{
    stretch(print, from, width, true);
}

void print_left(struct print *print, size_t from, size_t width)
{
    stretch(print, from, width, false);
}

const char *print_string(struct print *print)
{
    if (print->start == print->end)
        return "";
    if (print->at == print->end) {
        print->at--;
        print->cut = true;
    }
    *print->at = '\0';
    return print->start;
}

void print_flush(struct print *print, int fd)
{
    static const char tail[] = {'.', '.', '.', '\n'};
    if (print->cut && print_length(print) >= sizeof tail)
        memcpy(print->at - sizeof tail, tail, sizeof tail);
    if (print_length(print) > 0)
        os_write_all(fd, print->start, print_length(print));
    print->at = print->start;
    print->cut = false;
}

static void digits(struct print *print, uint64_t value, unsigned base, unsigned length_min)
{
    char text[DIGITS_MAX];
    unsigned length = 0;
    do {
        text[DIGITS_MAX - ++length] = "0123456789abcdef"[value % base];
        value /= base;
    } while (length < DIGITS_MAX && (value > 0 || length < length_min));
    print_bytes(print, text + DIGITS_MAX - length, length);
}

/* One conversion; `format` is behind its '%'. Returns what follows. */
static const char *format_one(struct print *print, const char *format, va_list *list)
{
    bool wide = *format == 'l' || *format == 'z';
    while (*format == 'l' || *format == 'z')
        format++;
    switch (*format) {
    case 's': {
        const char *text = va_arg(*list, const char *);
        print_text(print, text ? text : "(null)");
        break;
    }
    case 'c':
        print_char(print, (char)va_arg(*list, int));
        break;
    case 'd':
        print_signed(print, wide ? va_arg(*list, long) : va_arg(*list, int));
        break;
    case 'u':
        print_unsigned(print, wide ? va_arg(*list, unsigned long) : va_arg(*list, unsigned));
        break;
    case 'x':
        print_hex(print, wide ? va_arg(*list, unsigned long) : va_arg(*list, unsigned));
        break;
    case 'p':
        print_text(print, "0x");
        print_hex(print, (uintptr_t)va_arg(*list, void *));
        break;
    case '\0':
        return format;
    default:
        print_char(print, *format);
        break;
    }
    return format + 1;
}

static void stretch(struct print *print, size_t from, size_t width, bool before)
{
    size_t length = print_length(print) - from;
    if (length >= width)
        return;
    size_t missing = width - length;
    if (missing > (size_t)(print->end - print->at)) {
        print->cut = true;
        return;
    }
    char *cell = print->start + from;
    if (before)
        memmove(cell + missing, cell, length);
    memset(before ? cell : cell + length, ' ', missing);
    print->at += missing;
}
