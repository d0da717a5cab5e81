/* SPDX-License-Identifier: MIT */
/* See tool/symbol/elf/bundle.h. The index is not trusted: what it points to must be in its
 * section. */
#include "tool/symbol/elf/bundle.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/memory/memory.h"

/* The numbers that the index has for sections: of DWARF 4, where it was an extension, and of 5. */
static const struct {
    const char *name;
    uint8_t number4, number5;
} kinds[BUNDLE_KINDS] = {
    [BUNDLE_INFO] = {".debug_info.dwo", 1, 1},
    [BUNDLE_ABBREV] = {".debug_abbrev.dwo", 3, 3},
    [BUNDLE_LINE] = {".debug_line.dwo", 4, 4},
    [BUNDLE_TEXT_OFFSETS] = {".debug_str_offsets.dwo", 6, 6},
    [BUNDLE_LISTS] = {".debug_rnglists.dwo", 0, 8},
    [BUNDLE_TEXTS] = {".debug_str.dwo", 0, 0},
};

/* The beginning of the file in memory. Sections have the names of a file that is not split: libdw
 * takes all sections of a file for of one sort. */
static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_str_offsets\0"
                            ".debug_rnglists\0.debug_str\0.shstrtab";
/* What is behind the end lets a number be read without asking how long it is. */
enum { SECTIONS = BUNDLE_KINDS + 2, ALIGNMENT = 8, BEHIND = 16 };
struct front {
    Elf64_Ehdr head;
    Elf64_Shdr sections[SECTIONS]; /* none, then by kind, then the names */
    char names[(sizeof names + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT];
};

static void unit_close(struct bundle *bundle);
static bool bundle_start(struct bundle *bundle);
static bool front_make(struct bundle *bundle);
static bool room_make(struct bundle *bundle, uint64_t size);
static bool bytes_read(const struct bundle *bundle, enum bundle_kind kind, uint64_t offset,
                       uint64_t size, unsigned char *to);
static bool index_find(const struct bundle *bundle, uint64_t id, struct bundle_part *parts);
static uint32_t index_word(const struct bundle *bundle, uint64_t number);
static bool unit_make(struct bundle *bundle, const struct bundle_part *parts);

bool bundle_unit(struct bundle *bundle, uint64_t id, Dwarf_Die *tree)
{
    struct bundle_part parts[BUNDLE_KINDS] = {0};
    Dwarf_CU *cu = NULL;
    uint8_t type;
    uint64_t found;
    unit_close(bundle);
    if (!bundle->image || !bundle_start(bundle) || !index_find(bundle, id, parts) ||
        !unit_make(bundle, parts))
        return false;
    while (dwarf_get_units(bundle->dwarf, cu, &cu, NULL, &type, tree, NULL) == 0)
        if (type == DW_UT_split_compile &&
            dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &found, NULL, NULL) == 0 && found == id)
            return true;
    return false;
}

static void unit_close(struct bundle *bundle)
{
    if (bundle->dwarf)
        dwarf_end(bundle->dwarf);
    if (bundle->elf)
        elf_end(bundle->elf);
    bundle->dwarf = NULL;
    bundle->elf = NULL;
}

static bool bundle_start(struct bundle *bundle)
{
    GElf_Ehdr head;
    GElf_Shdr section;
    if (bundle->opened)
        return !bundle->bad;
    bundle->opened = bundle->bad = true;
    if (!gelf_getehdr(bundle->image->elf, &head) || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    for (size_t i = 0; i < BUNDLE_KINDS; i++) {
        bool packed;
        if (!image_section_head(bundle->image, kinds[i].name, &section, &packed))
            continue;
        bundle->sections[i] = (struct bundle_part){section.sh_offset, section.sh_size, NULL};
        if (!packed)
            continue;
        Elf_Data *data = image_section(bundle->image, kinds[i].name, NULL);
        if (!data)
            return false;
        bundle->sections[i] = (struct bundle_part){0, data->d_size, data->d_buf};
    }
    bundle->index = image_section(bundle->image, ".debug_cu_index", NULL);
    bundle->bad = !bundle->index || !front_make(bundle);
    return !bundle->bad;
}

/* The header and sections of no bytes, then the texts. */
static bool front_make(struct bundle *bundle)
{
    struct front front = {0};
    uint64_t texts = bundle->sections[BUNDLE_TEXTS].size;
    memcpy(front.head.e_ident, ELFMAG, SELFMAG);
    front.head.e_ident[EI_CLASS] = ELFCLASS64;
    front.head.e_ident[EI_DATA] = ELFDATA2LSB;
    front.head.e_ident[EI_VERSION] = EV_CURRENT;
    front.head.e_type = ET_REL;
    front.head.e_version = EV_CURRENT;
    front.head.e_shoff = offsetof(struct front, sections);
    front.head.e_ehsize = sizeof front.head;
    front.head.e_shentsize = sizeof front.sections[0];
    front.head.e_shnum = SECTIONS;
    front.head.e_shstrndx = SECTIONS - 1;
    memcpy(front.names, names, sizeof names);
    for (size_t i = 1, at = 1; i < SECTIONS; i++) {
        front.sections[i] = (Elf64_Shdr){
            .sh_name = (uint32_t)at, .sh_type = SHT_PROGBITS, .sh_offset = sizeof front};
        at += strlen(names + at) + 1;
    }
    front.sections[1 + BUNDLE_TEXTS].sh_size = texts;
    front.sections[SECTIONS - 1].sh_type = SHT_STRTAB;
    front.sections[SECTIONS - 1].sh_offset = offsetof(struct front, names);
    front.sections[SECTIONS - 1].sh_size = sizeof names;
    bundle->common = sizeof front + (texts + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (texts > bundle->image->size && !bundle->sections[BUNDLE_TEXTS].bytes)
        return false;
    if (!room_make(bundle, bundle->common))
        return false;
    memcpy(bundle->bytes, &front, sizeof front);
    return bytes_read(bundle, BUNDLE_TEXTS, 0, texts, bundle->bytes + sizeof front);
}

static bool room_make(struct bundle *bundle, uint64_t size)
{
    return size < SIZE_MAX / 2 && list_reserve(&bundle->bytes, &bundle->room, size, 1);
}

static bool bytes_read(const struct bundle *bundle, enum bundle_kind kind, uint64_t offset,
                       uint64_t size, unsigned char *to)
{
    const struct bundle_part *section = &bundle->sections[kind];
    if (offset > section->size || size > section->size - offset)
        return false;
    if (section->bytes) {
        memcpy(to, section->bytes + offset, size);
        return true;
    }
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(bundle->image->fd, to + done, size - done,
                            (off_t)(section->offset + offset + done));
        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

/*
 * The index: a head of four words (version, sections, units, slots); ids by slot; by slot the row
 * of its unit, from 1 on; the numbers of the sections; then for each unit a row of offsets, and
 * after those of all units a row of sizes.
 */
static bool index_find(const struct bundle *bundle, uint64_t id, struct bundle_part *parts)
{
    enum { HEAD = 4 };
    uint32_t version = index_word(bundle, 0) & 0xffff, columns = index_word(bundle, 1);
    uint64_t units = index_word(bundle, 2), slots = index_word(bundle, 3), row = 0;
    if ((version != 2 && version != 5) || slots == 0 || (slots & (slots - 1)) != 0 || columns > 16)
        return false;
    uint64_t step = ((id >> 32) & (slots - 1)) | 1, slot = id & (slots - 1);
    for (uint64_t i = 0; i < slots && row == 0; i++, slot = (slot + step) & (slots - 1)) {
        uint64_t here = index_word(bundle, HEAD + 2 * slot) |
                        (uint64_t)index_word(bundle, HEAD + 2 * slot + 1) << 32;
        uint32_t number = index_word(bundle, HEAD + 2 * slots + slot);
        if (number == 0)
            return false;
        if (here == id)
            row = number;
    }
    if (row == 0 || row > units)
        return false;
    uint64_t first = HEAD + 3 * slots, cell = first + row * columns;
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t number = index_word(bundle, first + i);
        for (size_t kind = 0; kind < BUNDLE_TEXTS; kind++)
            if (number != 0 && number == (version == 2 ? kinds[kind].number4 : kinds[kind].number5))
                parts[kind] =
                    (struct bundle_part){.offset = index_word(bundle, cell + i),
                                         .size = index_word(bundle, cell + units * columns + i)};
    }
    return true;
}

/* Numbers of 4 bytes in the index, counted from its beginning. */
static uint32_t index_word(const struct bundle *bundle, uint64_t number)
{
    uint32_t word = 0;
    if (number < bundle->index->d_size / sizeof word)
        memcpy(&word, (char *)bundle->index->d_buf + number * sizeof word, sizeof word);
    return word;
}

/* The file in memory for one unit. */
static bool unit_make(struct bundle *bundle, const struct bundle_part *parts)
{
    uint64_t end = bundle->common, at = end;
    for (size_t kind = 0; kind < BUNDLE_TEXTS; kind++) {
        if (parts[kind].size > bundle->sections[kind].size)
            return false;
        end += (parts[kind].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (!room_make(bundle, end + BEHIND))
        return false;
    struct front *front = (struct front *)bundle->bytes;
    for (size_t kind = 0; kind < BUNDLE_TEXTS; kind++) {
        if (!bytes_read(bundle, kind, parts[kind].offset, parts[kind].size, bundle->bytes + at))
            return false;
        front->sections[1 + kind].sh_offset = at;
        front->sections[1 + kind].sh_size = parts[kind].size;
        if (kind == BUNDLE_LISTS) {
            bundle->lists = parts[kind].size > 0 ? bundle->bytes + at : NULL;
            bundle->lists_size = parts[kind].size;
        }
        at += (parts[kind].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    bundle->elf = elf_memory((char *)bundle->bytes, end);
    bundle->dwarf = bundle->elf ? dwarf_begin_elf(bundle->elf, DWARF_C_READ, NULL) : NULL;
    return bundle->dwarf;
}

void bundle_close(struct bundle *bundle)
{
    unit_close(bundle);
    free(bundle->bytes);
    bundle->bytes = NULL;
}
