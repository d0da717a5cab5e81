/* SPDX-License-Identifier: MIT */
/*
 * The .dwo files of a program in one file, a .dwp: parts of units one after the other in every
 * section, and an index that says by a unit's id which bytes of each section are its own. libdw
 * knows only the single files; so one unit at a time is made such a file, in memory.
 */
#ifndef SYMBOL_ELF_BUNDLE_H
#define SYMBOL_ELF_BUNDLE_H

#include <elfutils/libdw.h>

#include "tool/symbol/elf/image.h"

enum bundle_kind {
    BUNDLE_INFO,
    BUNDLE_ABBREV,
    BUNDLE_LINE,
    BUNDLE_TEXT_OFFSETS,
    BUNDLE_LISTS,
    BUNDLE_TEXTS, /* common to all units */
    BUNDLE_KINDS
};

struct bundle_part {
    uint64_t offset, size;
    const unsigned char *bytes; /* of a section that was compressed; NULL: read them */
};

/* Zeros and the file are a bundle that nothing was asked of yet. */
struct bundle {
    const struct image *image; /* NULL: there is none */
    bool opened, bad;
    struct bundle_part sections[BUNDLE_KINDS];
    Elf_Data *index;
    unsigned char *bytes; /* the file in memory: what is common, then the unit's own */
    size_t room, common;
    Elf *elf;
    Dwarf *dwarf;
    const unsigned char *lists; /* of ranges of addresses of the unit; NULL: none */
    size_t lists_size;
};

/* Opens the unit of an id, which closes the one before. False: it is not in the bundle. */
bool bundle_unit(struct bundle *bundle, uint64_t id, Dwarf_Die *tree);
void bundle_close(struct bundle *bundle);

#endif
