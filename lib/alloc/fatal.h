/* SPDX-License-Identifier: MIT */
/*
 * The end: the program has misused or damaged its heap. One line on stderr, then SIGABRT. The texts
 * are a contract that tests check. Each says what, which address, how large the block is where that
 * is known, and what to do next.
 */
#ifndef ALLOC_FATAL_H
#define ALLOC_FATAL_H

#include <stddef.h>

_Noreturn void fatal_freed_twice(const void *block, size_t size);
/* p is no live block's first byte: finds out what it is instead and says so. */
_Noreturn void fatal_bad_pointer(const void *p, const char *call);
_Noreturn void fatal_line(const char *text);

#endif
