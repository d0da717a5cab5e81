/* SPDX-License-Identifier: MIT */
/* Names of code in this process, from the symbol tables of the files that it came from. Slow: for
 * reports at the end of a program. Opens files; no allocation. */
#ifndef WATCH_CODE_NAME_H
#define WATCH_CODE_NAME_H

#include <stdbool.h>
#include <stdint.h>

struct code_name {
    char function[256]; /* as it is in the file; empty: not known */
    char module[256];   /* the file; empty: none */
    uint64_t offset;    /* of the address in the file's own addresses */
};

/* `pc` is a return address. */
void code_name_find(uintptr_t pc, struct code_name *name);
/* A C++ name as a programmer writes it, where the program has a C++ library that knows how, and the
 * result fits. Not in a signal handler that interrupted the allocator. */
void code_name_demangle(struct code_name *name);

#endif
