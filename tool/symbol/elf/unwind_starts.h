/* SPDX-License-Identifier: MIT */
/*
 * Where functions begin and end, by the unwind tables (.eh_frame_hdr): what no `strip` takes away.
 * It gives no names, but tells the functions of a stripped file apart.
 */
#ifndef SYMBOL_ELF_UNWIND_STARTS_H
#define SYMBOL_ELF_UNWIND_STARTS_H

#include "tool/symbol/elf/image.h"

struct starts {
    const unsigned char *rows; /* of the sorted table; NULL: there is none */
    size_t count;
    uint64_t base; /* address of the header, which starts are relative to */
    const unsigned char *tables;
    size_t tables_size;
    uint64_t tables_at;
};

/* Lives as long as the image. Empty where the file has no such table. */
void starts_open(struct starts *starts, const struct image *image);
/* The function that an address is in, all in the file's own addresses; false: none is known. */
bool starts_find(const struct starts *starts, uint64_t address, uint64_t *start, uint64_t *size);
/* How many functions begin at or before the address. */
size_t starts_before(const struct starts *starts, uint64_t address);

#endif
