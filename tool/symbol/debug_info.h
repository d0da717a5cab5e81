/* SPDX-License-Identifier: MIT */
/* Functions, inlined ones among them, and lines, from DWARF. */
#ifndef SYMBOL_DEBUG_INFO_H
#define SYMBOL_DEBUG_INFO_H

#include <elfutils/libdw.h>

#include "tool/symbol/answers.h"
#include "tool/symbol/elf/elf.h"

struct debug_options {
    bool no_inlines;
    uint64_t *looked;           /* counted up as it goes; may be NULL */
    const struct image *image;  /* that the DWARF is of */
    const struct image *bundle; /* of its .dwo files; NULL: none */
};

/* Answers what is open, where the file has DWARF for it. `table` has the linker's name of
 * functions whose DWARF has none. Answers whether all units could be read. */
bool debug_info_answer(struct answers *answers, Dwarf *dwarf, const struct table *table,
                       const struct debug_options *options);

/* Calls for every line that code from `start` to `end` came from, in the order of addresses. */
void debug_info_lines(Dwarf *dwarf, uint64_t start, uint64_t end,
                      void (*take)(void *context, uint64_t address, uint32_t line,
                                   const char *file),
                      void *context);

#endif
