/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/bell.h. Everything is read from the memory of the process: the file that the
 * library came from may have been replaced since, and what is in memory is what runs. The right for
 * it is a debugger's: the same user, unless the kernel is stricter, or root.
 */
#include "tool/process/bell.h"

#include "base/attach.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

enum { PARTS_MAX = 64, NOTES_MAX = 4096 };

static bool memory_read(pid_t pid, uint64_t at, void *bytes, size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)at, size};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool memory_write(pid_t pid, uint64_t at, void *bytes, size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)at, size};
    return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* How many bytes of the notes are before the description, or 0; *length: how many it has. */
static size_t note_offset(const char *notes, size_t size, size_t *length)
{
    Elf64_Nhdr note;
    for (size_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        size_t owner = at + sizeof note;
        size_t text = owner + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        size_t end = text + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (end > size || end <= at)
            return 0;
        *length = note.n_descsz;
        if (note.n_type == ATTACH_NOTE && note.n_namesz == sizeof ATTACH_NOTE_OWNER &&
            note.n_descsz >= ATTACH_NOTE_BELL &&
            memcmp(notes + owner, ATTACH_NOTE_OWNER, sizeof ATTACH_NOTE_OWNER) == 0)
            return text;
        at = end;
    }
    return 0;
}

const char *bell_note(const char *notes, size_t size)
{
    size_t length, offset = note_offset(notes, size, &length);
    return offset > 0 ? notes + offset : NULL;
}

/* The bell of the object whose file is mapped from here on, or 0. */
static uint64_t object_bell(pid_t pid, uint64_t start)
{
    Elf64_Ehdr header;
    Elf64_Phdr parts[PARTS_MAX];
    char notes[NOTES_MAX];
    uint64_t base = start;
    if (!memory_read(pid, start, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phnum > PARTS_MAX ||
        !memory_read(pid, start + header.e_phoff, parts, header.e_phnum * sizeof *parts))
        return 0;
    for (unsigned i = 0; i < header.e_phnum; i++)
        if (parts[i].p_type == PT_LOAD && parts[i].p_offset == 0)
            base = start - parts[i].p_vaddr;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        uint64_t at = base + parts[i].p_vaddr;
        size_t length, size = parts[i].p_filesz;
        if (parts[i].p_type != PT_NOTE || size > sizeof notes || !memory_read(pid, at, notes, size))
            continue;
        size_t offset = note_offset(notes, size, &length);
        int32_t distance;
        if (offset == 0 || length < ATTACH_NOTE_SIZE)
            continue;
        memcpy(&distance, notes + offset + ATTACH_NOTE_BELL, sizeof distance);
        return at + offset + ATTACH_NOTE_BELL + (uint64_t)(int64_t)distance;
    }
    return 0;
}

/* Where the bell of a process is. 0: it has none, or its memory may not be looked at; then `reason`
 * is an errno value, and 0 otherwise. */
static uint64_t bell_find(pid_t pid, int *reason)
{
    char path[64], line[8192];
    uint64_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    *reason = maps ? 0 : errno;
    while (maps && found == 0 && *reason == 0 && fgets(line, sizeof line, maps)) {
        uint64_t start, offset;
        char access[8], first;
        if (sscanf(line, "%lx-%*x %7s %lx", &start, access, &offset) == 3 && offset == 0 &&
            access[0] == 'r' && strchr(line, '/')) {
            if (memory_read(pid, start, &first, sizeof first))
                found = object_bell(pid, start);
            else if (errno == EPERM || errno == ENOSYS)
                *reason = errno;
        }
    }
    if (maps)
        fclose(maps);
    return found;
}

void bell_look(struct process *process, bool ring)
{
    uint32_t word = 0, rung = ATTACH_BELL_RUNG;
    uint64_t at = bell_find(process->pid, &process->bell_reason);
    process->bell = process->bell_reason ? PROCESS_BELL_CLOSED : PROCESS_BELL_NONE;
    if (at == 0 || !memory_read(process->pid, at, &word, sizeof word))
        return;
    process->bell = word == ATTACH_BELL_QUIET || word == ATTACH_BELL_RUNG ? PROCESS_BELL_HANGS
                                                                          : PROCESS_BELL_OFF;
    if (ring && word == ATTACH_BELL_QUIET)
        memory_write(process->pid, at, &rung, sizeof rung);
}
