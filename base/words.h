/* SPDX-License-Identifier: MIT */
/*
 * Text at start. What options and variables are read with is a loop of our own: libc's strcspn is
 * faster on long text, but brings 64 KiB of its code and as much of its constants into memory,
 * which is a sixth of all that a small program has more by us. The same for numbers that the kernel
 * writes in /proc.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

/* Bytes before the first `end`, or before the end of the text. */
INLINE size_t text_until(const char *text, char end)
{
    size_t length = 0;
    while (text[length] != '\0' && text[length] != end)
        length++;
    return length;
}

/* The number that the text begins with, in the base 10 or 16, with small letters. */
INLINE uint64_t text_number(const char *text, unsigned base)
{
    uint64_t number = 0;
    for (;; text++) {
        unsigned char c = (unsigned char)*text;
        unsigned digit = c >= 'a' ? c - 'a' + 10u : c <= '9' ? c - (unsigned)'0' : base;
        if (digit >= base)
            return number;
        number = number * base + digit;
    }
}

/* The number of a process, and what is behind it; 0: there is none, or it is too large. */
INLINE pid_t text_pid(const char **text)
{
    int64_t number = 0;
    for (; **text >= '0' && **text <= '9' && number < INT32_MAX; ++*text)
        number = number * 10 + (**text - '0');
    return number < INT32_MAX ? (pid_t)number : 0;
}

#endif
