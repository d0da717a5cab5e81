/* SPDX-License-Identifier: MIT */
/*
 * The program headers of an ELF file: all that can be known of code without opening it as an image.
 * They are read by a function of the caller's, since the bytes lie in a file or in the memory of a
 * process, where the file may have been replaced since. Cost: two reads.
 */
#ifndef SYMBOL_ELF_HEADERS_H
#define SYMBOL_ELF_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linkers make about a dozen; a file with more than these is not ours to judge. */
enum { HEADERS_MAX = 128 };

struct headers {
    unsigned machine; /* with the word size above it: equal for programs that can be one process */
    bool whole;       /* 64-bit, and all parts are known */
    unsigned count;
    Elf64_Phdr parts[HEADERS_MAX];
};

/* False: there are not that many bytes. */
typedef bool headers_reader(const void *context, uint64_t at, void *bytes, size_t size);

/* False: no ELF file. */
bool headers_read(struct headers *headers, headers_reader *reader, const void *context);
/* The same of an open file. */
bool headers_read_file(struct headers *headers, int fd);
/* Where the description of a note with this owner and type is in a segment of notes, and its size.
 * 0: there is none. */
size_t headers_note(const char *notes, size_t size, const char *owner, uint32_t type,
                    size_t *length);

#endif
