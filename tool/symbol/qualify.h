/* SPDX-License-Identifier: MIT */
/*
 * std::thread::thread<...> for a function that DWARF calls thread<...>: compilers leave the
 * linker's name out for what the linker does not see. The classes and namespaces around an entry
 * are found by its place; DWARF has no way up. Made for a unit when first needed.
 */
#ifndef SYMBOL_QUALIFY_H
#define SYMBOL_QUALIFY_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct qualify {
    struct qualify_unit *units;
    size_t count, room;
};

/* The full name of a function, to be freed; NULL: there is nothing around it, or no memory. */
char *qualify_name(struct qualify *qualify, Dwarf_Die *function);
void qualify_free(struct qualify *qualify);

#endif
