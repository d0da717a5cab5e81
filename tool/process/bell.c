/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/bell.h. Everything is read from the memory of the process: the file that the
 * library came from may have been replaced since, and what is in memory is what runs. The right for
 * it is a debugger's: the same user, unless the kernel is stricter, or root.
 */
#include "tool/process/bell.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/attach_protocol.h"
#include "tool/symbol/elf/elf.h"

enum { NOTES_MAX = 4096 }; /* ours are in the first hundred bytes */

/* An object in the memory of a process. */
struct object {
    pid_t pid;
    uint64_t start;
};

static size_t note_offset(const char *notes, size_t size, size_t *length);
static uint64_t bell_find(pid_t pid, int *reason);
static bool memory_read(pid_t pid, uint64_t at, void *bytes, size_t size);
static uint64_t object_bell(pid_t pid, uint64_t start);
static bool object_read(const void *context, uint64_t at, void *bytes, size_t size);
static bool memory_write(pid_t pid, uint64_t at, void *bytes, size_t size);

const char *bell_note(const char *notes, size_t size)
{
    size_t length, offset = note_offset(notes, size, &length);
    return offset > 0 ? notes + offset : NULL;
}

/* Where in the notes the library's is, or 0; *length: how long it is. */
static size_t note_offset(const char *notes, size_t size, size_t *length)
{
    size_t offset = headers_note(notes, size, ATTACH_NOTE_OWNER, ATTACH_NOTE, length);
    return offset > 0 && *length >= ATTACH_NOTE_BELL ? offset : 0;
}

void bell_look(struct process *process, bool ring)
{
    uint32_t word = 0, rung = ATTACH_BELL_RUNG;
    uint64_t at = bell_find(process->pid, &process->bell_reason);
    process->bell = process->bell_reason ? PROCESS_BELL_CLOSED : PROCESS_BELL_NONE;
    if (at == 0 || !memory_read(process->pid, at, &word, sizeof word))
        return;
    process->threadless = attach_bell_error(word);
    bool hangs = word == ATTACH_BELL_QUIET || word == ATTACH_BELL_RUNG || process->threadless != 0;
    process->bell = hangs ? PROCESS_BELL_HANGS : PROCESS_BELL_OFF;
    if (ring && hangs && word != ATTACH_BELL_RUNG)
        memory_write(process->pid, at, &rung, sizeof rung);
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

static bool memory_read(pid_t pid, uint64_t at, void *bytes, size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)at, size};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The bell of the object whose file is mapped from here on, or 0. */
static uint64_t object_bell(pid_t pid, uint64_t start)
{
    struct object object = {pid, start};
    struct headers headers;
    char notes[NOTES_MAX];
    uint64_t base = start;
    if (!headers_read(&headers, object_read, &object))
        return 0;
    for (unsigned i = 0; i < headers.count; i++)
        if (headers.parts[i].p_type == PT_LOAD && headers.parts[i].p_offset == 0)
            base = start - headers.parts[i].p_vaddr;
    for (unsigned i = 0; i < headers.count; i++) {
        const Elf64_Phdr *part = &headers.parts[i];
        uint64_t at = base + part->p_vaddr;
        size_t length, size = part->p_filesz;
        if (part->p_type != PT_NOTE || size > sizeof notes || !memory_read(pid, at, notes, size))
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

static bool object_read(const void *context, uint64_t at, void *bytes, size_t size)
{
    const struct object *object = context;
    return memory_read(object->pid, object->start + at, bytes, size);
}

static bool memory_write(pid_t pid, uint64_t at, void *bytes, size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)at, size};
    return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}
