/* SPDX-License-Identifier: MIT */
/* Machine code as text, by capstone, which is opened when it is needed. */
#ifndef TOOL_DISASM_H
#define TOOL_DISASM_H

#include <stddef.h>
#include <stdint.h>

#include "tool/error.h"

struct disasm_instruction {
    uint64_t address;
    unsigned size;
    char text[200]; /* "call     0x1270" */
};

/* All instructions of a function; bytes that are none become .byte. `machine` is that of ELF. The
 * array is to be freed. */
bool disasm(const unsigned char *bytes, size_t size, uint64_t address, unsigned machine,
            struct disasm_instruction **instructions, size_t *count, struct error *error);

#endif
