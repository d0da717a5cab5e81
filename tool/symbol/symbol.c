/* SPDX-License-Identifier: MIT */
/* See tool/symbol/symbol.h. Read with pread, piece by piece: a mapping of a file that shrinks is a
 * way to die. */
#include "tool/symbol/symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS_MAX = 128, TABLE_MAX = 1 << 30, NOTES_MAX = 1 << 16 };

struct function {
    uint64_t start, size;
    uint32_t name; /* where in `names` */
};

struct symbol_file {
    Elf64_Phdr *parts;
    size_t parts_count;
    struct function *functions; /* by start */
    size_t functions_count;
    char *names;
};

/* One ELF file that is open. */
struct image {
    int fd;
    uint64_t size;
    Elf64_Ehdr head;
    Elf64_Phdr *parts;
    Elf64_Shdr *sections;
};

static bool image_open(struct image *image, const char *path);
static void image_close(struct image *image);
static bool image_has_id(const struct image *image, const void *id, size_t length);
static bool table_read(struct symbol_file *file, const struct image *image, uint32_t type);
static void table_read_debug(struct symbol_file *file, const unsigned char *id, size_t length);

struct symbol_file *symbol_open(const char *path, const void *build_id, size_t build_id_length)
{
    struct image image;
    struct symbol_file *file = NULL;
    if (!image_open(&image, path))
        return NULL;
    if (build_id_length == 0 || image_has_id(&image, build_id, build_id_length))
        file = calloc(1, sizeof *file);
    if (file) {
        if (!table_read(file, &image, SHT_SYMTAB))
            table_read_debug(file, build_id, build_id_length);
        if (file->functions_count == 0)
            table_read(file, &image, SHT_DYNSYM);
        file->parts = image.parts;
        file->parts_count = image.head.e_phnum;
        image.parts = NULL;
    }
    image_close(&image);
    return file;
}

void symbol_close(struct symbol_file *file)
{
    if (!file)
        return;
    free(file->parts);
    free(file->functions);
    free(file->names);
    free(file);
}

bool symbol_find(const struct symbol_file *file, uint64_t file_offset, struct symbol *symbol)
{
    uint64_t address = 0;
    bool loaded = false;
    for (size_t i = 0; !loaded && i < file->parts_count; i++) {
        const Elf64_Phdr *part = &file->parts[i];
        loaded = part->p_type == PT_LOAD && file_offset >= part->p_offset &&
                 file_offset - part->p_offset < part->p_filesz;
        if (loaded)
            address = file_offset - part->p_offset + part->p_vaddr;
    }
    size_t low = 0, high = file->functions_count;
    while (low < high) { /* the first that starts behind the address */
        size_t middle = low + (high - low) / 2;
        if (file->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!loaded || low == 0)
        return false;
    const struct function *found = &file->functions[low - 1];
    symbol->name = file->names + found->name;
    symbol->start = found->start;
    symbol->offset = address - found->start;
    symbol->guess = found->size > 0 && symbol->offset >= found->size;
    return true;
}

/* `count` things of `size` bytes at `offset`, or NULL if they are not all there. */
static void *piece_read(const struct image *image, uint64_t offset, uint64_t count, size_t size)
{
    if (count == 0 || count > TABLE_MAX / size || offset > image->size ||
        count * size > image->size - offset)
        return NULL;
    char *bytes = malloc(count * size);
    for (size_t at = 0; bytes && at < count * size;) {
        ssize_t got = pread(image->fd, bytes + at, count * size - at, (off_t)(offset + at));
        if (got <= 0) {
            free(bytes);
            return NULL;
        }
        at += (size_t)got;
    }
    return bytes;
}

static bool image_open(struct image *image, const char *path)
{
    struct stat stat;
    memset(image, 0, sizeof *image);
    image->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (image->fd < 0)
        return false;
    const Elf64_Ehdr *head = &image->head;
    if (fstat(image->fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
        pread(image->fd, &image->head, sizeof *head, 0) == (ssize_t)sizeof *head &&
        memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
        head->e_phentsize == sizeof(Elf64_Phdr) && head->e_phnum <= PARTS_MAX) {
        image->size = (uint64_t)stat.st_size;
        image->parts = piece_read(image, head->e_phoff, head->e_phnum, sizeof *image->parts);
        if (head->e_shentsize == sizeof(Elf64_Shdr))
            image->sections =
                piece_read(image, head->e_shoff, head->e_shnum, sizeof *image->sections);
    }
    if (!image->parts)
        image_close(image);
    return image->parts;
}

static void image_close(struct image *image)
{
    close(image->fd);
    free(image->parts);
    free(image->sections);
    image->parts = NULL;
    image->sections = NULL;
}

static bool image_has_id(const struct image *image, const void *id, size_t length)
{
    bool found = false;
    for (size_t i = 0; !found && i < image->head.e_phnum; i++) {
        const Elf64_Phdr *part = &image->parts[i];
        if (part->p_type != PT_NOTE || part->p_filesz > NOTES_MAX)
            continue;
        char *notes = piece_read(image, part->p_offset, part->p_filesz, 1);
        Elf64_Nhdr note;
        for (uint64_t at = 0; notes && at + sizeof note <= part->p_filesz;) {
            memcpy(&note, notes + at, sizeof note);
            uint64_t owner = at + sizeof note;
            uint64_t text = owner + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
            at = text + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
            if (at > part->p_filesz)
                break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
                memcmp(notes + owner, "GNU", sizeof "GNU") == 0 && note.n_descsz == length)
                found |= memcmp(notes + text, id, length) == 0;
        }
        free(notes);
    }
    return found;
}

/* By start; of those that start together the largest comes last, and is found. */
static int function_order(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* Takes the functions of the first table of that type. */
static bool table_read(struct symbol_file *file, const struct image *image, uint32_t type)
{
    const Elf64_Shdr *table = NULL;
    for (size_t i = 0; !table && image->sections && i < image->head.e_shnum; i++)
        if (image->sections[i].sh_type == type && image->sections[i].sh_link < image->head.e_shnum)
            table = &image->sections[i];
    if (!table)
        return false;
    const Elf64_Shdr *strings = &image->sections[table->sh_link];
    size_t count = table->sh_size / sizeof(Elf64_Sym);
    Elf64_Sym *symbols = piece_read(image, table->sh_offset, count, sizeof *symbols);
    char *names = piece_read(image, strings->sh_offset, strings->sh_size, 1);
    struct function *functions = symbols && names ? calloc(count, sizeof *functions) : NULL;
    size_t kept = 0;
    for (size_t i = 0; functions && i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        unsigned kind = ELF64_ST_TYPE(symbol->st_info);
        if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
            symbol->st_name == 0 || symbol->st_name >= strings->sh_size)
            continue;
        functions[kept++] = (struct function){symbol->st_value, symbol->st_size, symbol->st_name};
    }
    free(symbols);
    if (kept == 0) {
        free(names);
        free(functions);
        return false;
    }
    names[strings->sh_size - 1] = '\0';
    qsort(functions, kept, sizeof *functions, function_order);
    file->functions = functions;
    file->functions_count = kept;
    file->names = names;
    return true;
}

/* The file of debug information that distributions install beside stripped ones. */
static void table_read_debug(struct symbol_file *file, const unsigned char *id, size_t length)
{
    char path[PATH_MAX] = "/usr/lib/debug/.build-id/";
    struct image image;
    size_t at = strlen(path);
    if (length < 2 || length > 64)
        return;
    for (size_t i = 0; i < length; i++)
        at += (size_t)snprintf(path + at, sizeof path - at, i == 0 ? "%02x/" : "%02x", id[i]);
    snprintf(path + at, sizeof path - at, ".debug");
    if (!image_open(&image, path))
        return;
    if (image_has_id(&image, id, length))
        table_read(file, &image, SHT_SYMTAB);
    image_close(&image);
}
