/* SPDX-License-Identifier: MIT */
/* See lib/process/twin.h. The program's headers are where the kernel put them (AT_PHDR); the note
 * that marks us (base/attach_protocol.h) tells whether we are in it. */
#include "lib/process/twin.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/attach_protocol.h"

/* The object that this is part of, from the linker. */
extern __attribute__((visibility("hidden"))) const char __ehdr_start[];

static bool is_loaded(const ElfW(Phdr) * parts, size_t count, uintptr_t start, size_t size);
static bool notes_have_ours(const char *notes, size_t size);

bool twin_is_in_charge(void)
{
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = parts == NULL ? 0 : getauxval(AT_PHNUM);
    uintptr_t base = 0;
    bool known = false, found = false; /* static programs do not say where they are */
    for (size_t i = 0; i < count; i++)
        if (parts[i].p_type == PT_PHDR) {
            base = (uintptr_t)parts - parts[i].p_vaddr;
            known = true;
        }
    for (size_t i = 0; known && i < count && !found; i++)
        found = parts[i].p_type == PT_NOTE &&
                is_loaded(parts, count, parts[i].p_vaddr, parts[i].p_filesz) &&
                notes_have_ours((const char *)base + parts[i].p_vaddr, parts[i].p_filesz);
    return found && !is_loaded(parts, count, (uintptr_t)__ehdr_start - base, 1);
}

/* Whether one of the program's loaded parts holds these addresses. */
static bool is_loaded(const ElfW(Phdr) * parts, size_t count, uintptr_t start, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].p_type == PT_LOAD && start - parts[i].p_vaddr < parts[i].p_filesz &&
            size <= parts[i].p_filesz - (start - parts[i].p_vaddr))
            return true;
    return false;
}

static bool notes_have_ours(const char *notes, size_t size)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        size_t text = at + sizeof note + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        size_t end = text + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (end > size || end <= at)
            return false;
        if (note.n_type == ATTACH_NOTE && note.n_namesz == sizeof ATTACH_NOTE_OWNER &&
            memcmp(notes + at + sizeof note, ATTACH_NOTE_OWNER, sizeof ATTACH_NOTE_OWNER) == 0)
            return true;
        at = end;
    }
    return false;
}
