/* SPDX-License-Identifier: MIT */
/* What the file of a program or library has for us. */
#ifndef SYMBOL_LOOK_H
#define SYMBOL_LOOK_H

#include "tool/symbol/symbol_options.h"

struct symbol_look {
    enum symbol_quality quality; /* SYMBOL_NOTHING: no ELF file, or no symbols at all */
    bool elf;
    bool own_malloc; /* it defines malloc itself */
    char build_id[160];
    char *debug_file; /* beside it, to be freed; NULL: none */
};
/* `path` on this machine. */
void symbol_look(const char *path, const struct symbol_options *options, struct symbol_look *look);

#endif
