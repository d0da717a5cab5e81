/* SPDX-License-Identifier: MIT */
/*
 * The functions of a file by address, from .symtab or .dynsym, and the stubs through which other
 * files' functions are called (`malloc@plt`).
 */
#ifndef SYMBOL_ELF_SYMBOL_TABLE_H
#define SYMBOL_ELF_SYMBOL_TABLE_H

#include "tool/symbol/elf/image.h"

struct table_symbol {
    uint64_t start, size;
    const char *name; /* lives as long as the image */
    uint8_t rank;     /* of those at one address, the highest is taken */
    bool stub;        /* its name gets @plt */
};

struct table {
    struct table_symbol *symbols; /* by start, each start once */
    size_t count;
    bool exports_only;
};

/* Symbols of `image`, which may have no code, and stubs of `code`. Empty if there is nothing. False
 * when memory is out. */
bool table_read(struct table *table, const struct image *image, const struct image *code);
void table_free(struct table *table);
/* The last symbol that starts at or before the address; NULL: none. */
const struct table_symbol *table_find(const struct table *table, uint64_t address);
/* Whether an address at or behind a symbol's start is in it. One without a size, as assemblers
 * make them, ends where the next one starts; but not where only some have a name. */
bool table_holds(const struct table *table, const struct table_symbol *symbol, uint64_t address);

/* Calls `take` for each function of the first table of a type of ELF's that starts where it is
 * `wanted`; false if it said so. */
struct table_scan {
    bool (*wanted)(void *context, uint64_t start);
    bool (*take)(void *context, const struct table_symbol *symbol);
    void *context;
};
bool table_scan(const struct image *image, uint32_t type, const struct table_scan *scan);

/* Calls for each stub (stubs.c); false when memory is out, or if `take` said so. */
bool stubs_read(const struct image *image, bool (*take)(void *context, struct table_symbol *stub),
                void *context);

#endif
