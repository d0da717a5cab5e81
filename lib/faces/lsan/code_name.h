/* SPDX-License-Identifier: MIT */
/* Names of code in this process, from the symbol tables of the files that it came from. Slow: for
 * reports at the end of a program. Opens files; no allocation but for C++ names. */
#ifndef LSAN_CODE_NAME_H
#define LSAN_CODE_NAME_H

#include <stdbool.h>
#include <stdint.h>

struct code_name {
    char function[256]; /* empty: not known */
    char module[256];   /* the file; empty: none */
    uint64_t offset;    /* of the address in the file's own addresses */
};

/* `pc` is a return address. */
void code_name_find(uintptr_t pc, struct code_name *name);

#endif
