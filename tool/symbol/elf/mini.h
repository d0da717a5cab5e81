/* SPDX-License-Identifier: MIT */
/*
 * MiniDebugInfo: distributions put the symbol table of a stripped file back into it, compressed
 * with xz, less the symbols that are exported anyway (.gnu_debugdata). liblzma is opened when it
 * is needed.
 */
#ifndef SYMBOL_ELF_MINI_H
#define SYMBOL_ELF_MINI_H

#include "tool/symbol/elf/image.h"

/* NULL: there is none, or none that can be read. */
struct image *mini_open(const struct image *image);

#endif
