/* SPDX-License-Identifier: MIT */
/* Machine code as text, by capstone, which is opened when it is needed. */
#ifndef SYMBOL_DISASM_H
#define SYMBOL_DISASM_H

#include <stddef.h>
#include <stdint.h>

#include "tool/terminal/terminal.h"

struct disasm_instruction {
    uint64_t address;
    unsigned size;
    char text[200]; /* "call     malloc@plt" */
};

/* DISASM_ATT is as objdump writes it: "call   1270", "mov    %rsp,%rbp". Of x86 only; elsewhere
 * there is one way. */
enum disasm_syntax { DISASM_INTEL, DISASM_ATT };

/* A piece of machine code, of a file whose `machine` is ELF's. */
struct disasm_code {
    const unsigned char *bytes;
    size_t size;
    uint64_t address;
    unsigned machine;
    enum disasm_syntax syntax;
    /* What is at an address that is called or jumped to; false: it is not known. May be NULL. */
    bool (*name)(const void *context, uint64_t address, char *text, size_t size);
    const void *context;
};

/* All instructions of a function; bytes that are none become .byte. The array is to be freed. */
bool disasm(const struct disasm_code *code, struct disasm_instruction **instructions, size_t *count,
            struct error *error);

#endif
