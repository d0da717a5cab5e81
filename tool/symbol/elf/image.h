/* SPDX-License-Identifier: MIT */
/*
 * An ELF file that is open: where its bytes are loaded, its build id, its symbols. Read with pread
 * through libelf, not mapped: a mapping of a file that shrinks is a way to die.
 */
#ifndef SYMBOL_ELF_IMAGE_H
#define SYMBOL_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_ID_MAX = 64, IMAGE_ID_TEXT = 2 * IMAGE_ID_MAX + 1 };

struct image_segment {
    uint64_t offset, file_size, address, size;
    bool executable;
};

struct image {
    char *path;  /* as it was opened */
    int fd;      /* -1: in memory */
    void *bytes; /* those that are ours; NULL: none */
    Elf *elf;
    unsigned machine;
    bool fixed; /* its addresses are those of the process (ET_EXEC) */
    struct image_segment *segments;
    size_t segments_count;
    char build_id[IMAGE_ID_TEXT]; /* lower-case hex; "": none */
    uint64_t size, changed_ns;
    bool has_symtab, has_dynsym, has_dwarf;
    bool empty;   /* what is loaded is not in it: a file of debug information */
    bool partial; /* its symbols are those that are not exported */
};

/* NULL: no ELF file that can be read. */
struct image *image_open(const char *path);
/* A .dwp, the .dwo files of a program in one: only its sections are read. */
struct image *image_bundle(const char *path);
/* Of bytes that it takes over, and frees. */
struct image *image_memory(const char *path, void *bytes, size_t size);
/* The kernel's own, as this process sees it. */
struct image *image_vdso(void);
void image_close(struct image *image);

/* The file's own address of one in a process, where the mapping at `start` begins with the file's
 * byte `offset`. False: it is not loaded from this file. */
bool image_address(const struct image *image, uint64_t start, uint64_t offset, uint64_t address,
                   uint64_t *own);
/* The same where mappings are not known: only a program with fixed addresses tells. */
bool image_fixed(const struct image *image, uint64_t address, uint64_t *own);
/* Where in the file a byte is that is loaded to this, its own, address; 0: nowhere. */
uint64_t image_offset(const struct image *image, uint64_t own);
/* Where a section is; `packed`: compressed. False: there is none. */
bool image_section_head(const struct image *image, const char *name, GElf_Shdr *head, bool *packed);
/* A section by name, with its bytes, unpacked; NULL: none. */
Elf_Data *image_section(const struct image *image, const char *name, uint64_t *address);
/* Where the debug information says it is, and the checksum of that file; NULL: it does not. */
const char *image_debug_link(const struct image *image, uint32_t *checksum);

#endif
