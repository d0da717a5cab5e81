/* SPDX-License-Identifier: MIT */
/*
 * The end: the program has misused or damaged its heap. One line on stderr, then SIGABRT. The texts
 * are a contract that tests check. Each says what, which address, how large the block is where that
 * is known, and what to do next.
 */
#ifndef ALLOC_FATAL_H
#define ALLOC_FATAL_H

#include <stdbool.h>
#include <stddef.h>

_Noreturn void fatal_freed_twice(const void *block, size_t size);
/* p is no live block's first byte: finds out what it is instead and says so. */
_Noreturn void fatal_bad_pointer(const void *p, const char *call);
/* With `harden`: `byte`, behind what was asked for, is not as it was; `exact`: it is known that the
 * block has `size` bytes, otherwise that it has no more. `call` found it. */
_Noreturn void fatal_damaged(const void *block, size_t size, bool exact, const void *byte,
                             const char *call);
_Noreturn void fatal_written_freed(const void *block, size_t size, size_t byte, const char *call);
_Noreturn void fatal_line(const char *text);

#endif
