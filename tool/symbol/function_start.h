/* SPDX-License-Identifier: MIT */
/* Where a function begins, by the file's symbol table. */
#ifndef SYMBOL_FUNCTION_START_H
#define SYMBOL_FUNCTION_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_at {
    const char *path;
    uint64_t start, offset; /* the mapping at `start` begins with the byte `offset` of it */
    uint64_t address;       /* in the function, of the process */
    uint64_t found;         /* in the file's own addresses; 0: not known */
};
/* Each file is read once, and only what is near the addresses. False when memory is out. */
bool symbol_starts(struct symbol_at *places, size_t count);

#endif
