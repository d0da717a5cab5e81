/* SPDX-License-Identifier: MIT */
/*
 * Which addresses a function of a bundled unit has. libdw can't tell: the addresses themselves are
 * in the program, and it does not know that the two belong together.
 */
#ifndef SYMBOL_REACH_H
#define SYMBOL_REACH_H

#include "tool/symbol/elf/elf.h"

struct reach {
    uint64_t base; /* what ranges are counted from, if they do not say */
    const unsigned char *addresses, *lists;
    size_t addresses_size, lists_size;
    unsigned version, address_size, offset_size;
};

/* `head` is the unit's part in the program, `tree` the one in the bundle. */
void reach_open(struct reach *reach, const struct image *program, Dwarf_Die *head, Dwarf_Die *tree,
                const struct bundle *bundle);
/* Calls for every range of an entry. */
void reach_each(const struct reach *reach, Dwarf_Die *die,
                void (*take)(void *context, uint64_t start, uint64_t end), void *context);

#endif
