/* SPDX-License-Identifier: MIT */
/* A function's machine code and which line each address came from, for disassembly. */
#ifndef SYMBOL_FUNCTION_CODE_H
#define SYMBOL_FUNCTION_CODE_H

#include <stddef.h>

#include "tool/profile/profile.h"
#include "tool/symbol/symbol_options.h"

struct symbol_code_line {
    uint64_t address; /* in the file's own addresses */
    uint32_t line;
    const char *file;
};
struct symbol_code {
    char *name;           /* of one without a name: file and where it begins, "libz.so.1+0x1f0" */
    uint64_t start, size; /* in the file's own addresses */
    uint64_t bias;        /* + this = the address in the profile's process */
    unsigned machine;     /* of ELF */
    unsigned char *bytes;
    struct symbol_code_line *lines; /* in order */
    size_t line_count;
    void *keep;                 /* what the texts live in */
    struct symbol_names *names; /* of all functions of its file */
};
/* All functions of the profile's modules that have samples and whose name fits, one by one. */
bool symbol_codes(const struct profile *profile, const struct symbol_options *options,
                  bool (*fits)(void *context, const char *name), void *context,
                  struct symbol_code **codes, size_t *count);
void symbol_codes_free(struct symbol_code *codes, size_t count);
/* What is at an address of the same file, which is its own: "malloc@plt", "work+0x10"; false: not
 * known. */
bool symbol_code_name(const struct symbol_code *code, uint64_t address, char *text, size_t size);

#endif
