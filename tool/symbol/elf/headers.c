/* SPDX-License-Identifier: MIT */
/* See tool/symbol/elf/headers.h. */
#include "tool/symbol/elf/headers.h"

#include <string.h>
#include <unistd.h>

static bool file_reader(const void *context, uint64_t at, void *bytes, size_t size);

bool headers_read(struct headers *headers, headers_reader *reader, const void *context)
{
    Elf64_Ehdr header;
    *headers = (struct headers){0};
    if (!reader(context, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    /* e_machine is at the same place in both word sizes. */
    headers->machine = (unsigned)header.e_ident[EI_CLASS] << 16 | header.e_machine;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum > HEADERS_MAX ||
        (header.e_phnum > 0 && header.e_phentsize != sizeof headers->parts[0]))
        return true;
    headers->whole =
        reader(context, header.e_phoff, headers->parts, header.e_phnum * sizeof headers->parts[0]);
    headers->count = headers->whole ? header.e_phnum : 0;
    return true;
}

bool headers_read_file(struct headers *headers, int fd)
{
    return headers_read(headers, file_reader, &fd);
}

size_t headers_note(const char *notes, size_t size, const char *owner, uint32_t type,
                    size_t *length)
{
    Elf64_Nhdr note;
    for (size_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note;
        size_t text = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        size_t end = text + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (end > size || end <= at)
            return 0;
        *length = note.n_descsz;
        if (note.n_type == type && note.n_namesz == strlen(owner) + 1 &&
            memcmp(notes + name, owner, note.n_namesz) == 0)
            return text;
        at = end;
    }
    return 0;
}

static bool file_reader(const void *context, uint64_t at, void *bytes, size_t size)
{
    return pread(*(const int *)context, bytes, size, (off_t)at) == (ssize_t)size;
}
