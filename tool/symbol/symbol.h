/* SPDX-License-Identifier: MIT */
/*
 * The door of tool/symbol: names of addresses, from the symbol tables of ELF files. A file's own
 * .symtab is best; a stripped one may have it in a file of debug information of the same build id;
 * what is left is .dynsym, which knows exported functions only.
 *
 * Files are not trusted: whatever makes no sense has no symbols.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "tool/symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;

struct symbol {
    const char *name; /* as in the file; lives as long as the symbol_file */
    uint64_t start;   /* address in the file */
    uint64_t offset;  /* of the address asked for, from `start` */
    bool guess;       /* the address lies behind the symbol: it is only the nearest one */
};

/* NULL if it can't be read, or if `build_id` is not empty and the file has another one. */
struct symbol_file *symbol_open(const char *path, const void *build_id, size_t build_id_length);
void symbol_close(struct symbol_file *file);
/* The function at a byte of the file. */
bool symbol_find(const struct symbol_file *file, uint64_t file_offset, struct symbol *symbol);

/* The name as people write it, as far as that needs no knowledge of types: Cache::insert for
 * _ZN5Cache6insertEv. Anything harder stays as it is. */
void symbol_readable(const char *name, char *text, size_t size);

#endif
