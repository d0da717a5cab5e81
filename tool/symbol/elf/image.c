/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/elf/image.h. An address of a process becomes one of the file by the segment that
 * holds the mapped offset, not by the first segment alone: linkers leave gaps, and parts of a file
 * may be mapped by hand. Files of debug information have the segments of the program but none of
 * their bytes; `empty` tells those.
 */
#include "tool/symbol/elf/image.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENTS_MAX = 128 }; /* linkers make about a dozen */

static bool image_read(struct image *image);
static Elf_Scn *section_find(const struct image *image, const char *name, GElf_Shdr *head);

static struct image *file_open(const char *path);
static bool segments_read(struct image *image);
static void sections_read(struct image *image);
static void build_id_read(struct image *image, Elf_Data *notes);

struct image *image_open(const char *path)
{
    struct image *image = file_open(path);
    if (image && image_read(image))
        return image;
    image_close(image);
    return NULL;
}

/* The file, of which nothing is read yet. */
static struct image *file_open(const char *path)
{
    struct stat stat;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return NULL;
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->path = strdup(path);
    image->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (image->path && image->fd >= 0 && fstat(image->fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        image->size = (uint64_t)stat.st_size;
        image->changed_ns =
            (uint64_t)stat.st_mtim.tv_sec * 1000000000U + (uint64_t)stat.st_mtim.tv_nsec;
        image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
    }
    if (image->elf && elf_kind(image->elf) == ELF_K_ELF)
        return image;
    image_close(image);
    return NULL;
}

static bool image_read(struct image *image)
{
    GElf_Ehdr head;
    size_t count;
    if (elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &head) ||
        (head.e_type != ET_EXEC && head.e_type != ET_DYN) || !segments_read(image))
        return false;
    image->machine = head.e_machine;
    image->fixed = head.e_type == ET_EXEC;
    sections_read(image);
    if (image->build_id[0] != '\0' || elf_getphdrnum(image->elf, &count) != 0)
        return true;
    for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) { /* there may be no sections */
        GElf_Phdr part;
        if (!gelf_getphdr(image->elf, (int)i, &part) || part.p_type != PT_NOTE ||
            part.p_filesz == 0 || part.p_filesz > 1 << 16)
            continue;
        Elf_Data *notes = elf_getdata_rawchunk(image->elf, (int64_t)part.p_offset, part.p_filesz,
                                               part.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (notes)
            build_id_read(image, notes);
    }
    return true;
}

static bool segments_read(struct image *image)
{
    size_t count;
    if (elf_getphdrnum(image->elf, &count) != 0)
        return false;
    if (count > SEGMENTS_MAX)
        count = SEGMENTS_MAX;
    image->segments = calloc(count + 1, sizeof *image->segments);
    if (!image->segments)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr part;
        if (!gelf_getphdr(image->elf, (int)i, &part) || part.p_type != PT_LOAD)
            continue;
        image->segments[image->segments_count++] = (struct image_segment){
            part.p_offset, part.p_filesz, part.p_vaddr, part.p_memsz, part.p_flags & PF_X};
    }
    return true;
}

static void sections_read(struct image *image)
{
    size_t names;
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        if (!gelf_getshdr(section, &head))
            continue;
        const char *name = elf_strptr(image->elf, names, head.sh_name);
        if (head.sh_type == SHT_NOTE && image->build_id[0] == '\0') {
            Elf_Data *notes = elf_getdata(section, NULL);
            if (notes)
                build_id_read(image, notes);
        }
        image->has_symtab |= head.sh_type == SHT_SYMTAB;
        image->has_dynsym |= head.sh_type == SHT_DYNSYM;
        if (!name)
            continue;
        image->has_dwarf |= head.sh_type != SHT_NOBITS &&
                            (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0);
        image->empty |= head.sh_type == SHT_NOBITS && strcmp(name, ".text") == 0;
    }
}

static void build_id_read(struct image *image, Elf_Data *notes)
{
    GElf_Nhdr note;
    size_t name, text;
    for (size_t at = 0; (at = gelf_getnote(notes, at, &note, &name, &text)) > 0;) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof "GNU" ||
            memcmp((char *)notes->d_buf + name, "GNU", sizeof "GNU") != 0 || note.n_descsz == 0 ||
            note.n_descsz > IMAGE_ID_MAX)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++)
            snprintf(image->build_id + 2 * i, 3, "%02x", ((unsigned char *)notes->d_buf)[text + i]);
        return;
    }
}

struct image *image_bundle(const char *path)
{
    struct image *image = file_open(path);
    GElf_Shdr head;
    if (image && section_find(image, ".debug_cu_index", &head))
        return image;
    image_close(image);
    return NULL;
}

static Elf_Scn *section_find(const struct image *image, const char *name, GElf_Shdr *head)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        const char *text =
            gelf_getshdr(section, head) ? elf_strptr(image->elf, names, head->sh_name) : NULL;
        if (text && strcmp(text, name) == 0 && head->sh_type != SHT_NOBITS)
            return section;
    }
    return NULL;
}

struct image *image_memory(const char *path, void *bytes, size_t size)
{
    struct image *image = elf_version(EV_CURRENT) != EV_NONE ? calloc(1, sizeof *image) : NULL;
    if (!image) {
        free(bytes);
        return NULL;
    }
    image->fd = -1;
    image->bytes = bytes;
    image->path = strdup(path);
    image->size = size;
    image->elf = elf_memory(bytes, size);
    if (image->path && image->elf && image_read(image))
        return image;
    image_close(image);
    return NULL;
}

struct image *image_vdso(void)
{
    enum { VDSO_SIZE = 4096 };
    char *start = (char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */
    struct image *image = start ? calloc(1, sizeof *image) : NULL;
    if (!image || elf_version(EV_CURRENT) == EV_NONE) {
        free(image);
        return NULL;
    }
    Elf64_Ehdr head;
    memcpy(&head, start, sizeof head);
    size_t size = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    image->fd = -1;
    image->path = strdup("[vdso]");
    image->size = size < VDSO_SIZE ? VDSO_SIZE : size;
    image->elf = elf_memory(start, image->size);
    if (image->path && image->elf && image_read(image))
        return image;
    image_close(image);
    return NULL;
}

void image_close(struct image *image)
{
    if (!image)
        return;
    if (image->elf)
        elf_end(image->elf);
    if (image->fd >= 0)
        close(image->fd);
    free(image->segments);
    free(image->bytes);
    free(image->path);
    free(image);
}

/*
 * A mapping begins with a byte of one segment, or in the page that two segments share; it may also
 * stand for all segments together, as in profiles that join them. All of them are moved by the
 * same distance, so that the segment that the mapping begins in gives the distance, and the
 * address must then lie in one that is executable.
 *
 * A file of debug information has no bytes of its segments, and their offsets mean nothing:
 * there the mapping is taken for the executable segment, or for all of them.
 */
bool image_address(const struct image *image, uint64_t start, uint64_t offset, uint64_t address,
                   uint64_t *own)
{
    enum { PAGE_MASK = 0xfff };
    bool found = false;
    for (size_t i = 0; i < image->segments_count; i++) {
        const struct image_segment *from = &image->segments[i];
        uint64_t first = from->offset & ~(uint64_t)PAGE_MASK, moved;
        if (image->empty) {
            if (from->executable == (offset == 0))
                continue;
            moved = (from->address & ~(uint64_t)PAGE_MASK) + (address - start);
        } else if (offset >= first && offset < from->offset + from->file_size) {
            moved = offset - from->offset + from->address + (address - start);
        } else {
            continue;
        }
        for (size_t j = 0; j < image->segments_count; j++) {
            const struct image_segment *to = &image->segments[j];
            if (!to->executable || moved < to->address || moved - to->address >= to->size)
                continue;
            if (!found || i == j)
                *own = moved;
            found = true;
            if (i == j)
                return true;
        }
        if (image->empty && found)
            return true;
    }
    return found;
}

bool image_fixed(const struct image *image, uint64_t address, uint64_t *own)
{
    *own = address;
    for (size_t i = 0; image->fixed && i < image->segments_count; i++)
        if (image->segments[i].executable && address >= image->segments[i].address &&
            address - image->segments[i].address < image->segments[i].size)
            return true;
    return false;
}

uint64_t image_offset(const struct image *image, uint64_t own)
{
    for (size_t i = 0; i < image->segments_count; i++)
        if (own >= image->segments[i].address &&
            own - image->segments[i].address < image->segments[i].file_size)
            return own - image->segments[i].address + image->segments[i].offset;
    return 0;
}

bool image_section_head(const struct image *image, const char *name, GElf_Shdr *head, bool *packed)
{
    bool found = section_find(image, name, head);
    *packed = found && (head->sh_flags & SHF_COMPRESSED);
    return found;
}

Elf_Data *image_section(const struct image *image, const char *name, uint64_t *address)
{
    GElf_Shdr head;
    Elf_Scn *section = section_find(image, name, &head);
    if (!section || ((head.sh_flags & SHF_COMPRESSED) && elf_compress(section, 0, 0) < 0))
        return NULL;
    if (address)
        *address = head.sh_addr;
    Elf_Data *data = elf_getdata(section, NULL);
    return data && data->d_buf ? data : NULL;
}

const char *image_debug_link(const struct image *image, uint32_t *checksum)
{
    Elf_Data *data = image_section(image, ".gnu_debuglink", NULL);
    if (!data || data->d_size < 8 || strnlen(data->d_buf, data->d_size) > data->d_size - 5)
        return NULL;
    memcpy(checksum, (char *)data->d_buf + data->d_size - 4, sizeof *checksum);
    return data->d_buf;
}
