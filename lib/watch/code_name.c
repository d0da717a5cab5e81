/* SPDX-License-Identifier: MIT */
/* See lib/watch/code_name.h. */
#include "lib/watch/code_name.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/maps.h"
#include "base/lock.h"
#include "base/os.h"

/* Symbols are read 3 KiB at a time, on the stack; a file with more sections or segments is damaged,
 * or not one that a loader takes. */
enum { SYMBOLS_AT_ONCE = 128, SECTIONS_MAX = 4096, SEGMENTS_MAX = 64 };

/* The C++ library's, where the program has one. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status)
    __attribute__((weak));

static bool mapping_find(uintptr_t pc, struct code_name *name, uint64_t *file_offset);
static bool address_of(int fd, const Elf64_Ehdr *head, uint64_t file_offset, uint64_t *address);
static bool symbol_find(int fd, const Elf64_Ehdr *head, uint64_t address, char *text, size_t size);

void code_name_find(uintptr_t pc, struct code_name *name)
{
    uint64_t file_offset;
    Elf64_Ehdr head;
    *name = (struct code_name){.offset = pc};
    if (!mapping_find(pc - 1, name, &file_offset))
        return;
    int fd = os_open(name->module, O_RDONLY | O_CLOEXEC, 0);
    uint64_t address;
    if (fd < 0)
        return;
    if (os_read_at(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
        address_of(fd, &head, file_offset, &address)) {
        name->offset = address + 1;
        if (!symbol_find(fd, &head, address, name->function, sizeof name->function))
            name->function[0] = '\0';
    }
    os_close(fd);
}

/* The demangler allocates. The thread counts as inside of the allocator meanwhile, so that malloc
 * serves from the memory that it keeps for signal handlers: reports are about broken heaps. That
 * memory is never used again, so there is an end to it. */
void code_name_demangle(struct code_name *name)
{
    enum { NAMES_MAX = 4096 }; /* a mean of 16 KiB each of the 64 MiB that emergency.c has */
    static uint32_t count;
    int status = -1;
    if (__cxa_demangle == NULL || strncmp(name->function, "_Z", 2) != 0 ||
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) >= NAMES_MAX || lock_held != 0)
        return;
    lock_enter(LOCK_INSIDE, (uintptr_t)__builtin_frame_address(0));
    lock_calls_begin();
    const char *plain = __cxa_demangle(name->function, NULL, NULL, &status);
    lock_calls_end();
    size_t length = plain == NULL ? 0 : strlen(plain);
    if (length > 0 && length < sizeof name->function)
        memcpy(name->function, plain, length + 1);
    lock_leave(LOCK_INSIDE);
}

static bool mapping_find(uintptr_t pc, struct code_name *name, uint64_t *file_offset)
{
    struct maps maps;
    struct map map;
    bool found = false;
    if (!maps_open(&maps))
        return false;
    while (!found && maps_next(&maps, &map)) {
        if (pc < map.start || pc >= map.end || map.path[0] != '/')
            continue;
        size_t length = strlen(map.path);
        found = length < sizeof name->module;
        if (found)
            memcpy(name->module, map.path, length + 1);
        *file_offset = pc - map.start + map.offset;
    }
    maps_close(&maps);
    return found;
}

static bool address_of(int fd, const Elf64_Ehdr *head, uint64_t file_offset, uint64_t *address)
{
    for (unsigned i = 0; i < head->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr part;
        if (os_read_at(fd, &part, sizeof part, head->e_phoff + i * sizeof part) !=
            (ssize_t)sizeof part)
            return false;
        if (part.p_type != PT_LOAD || file_offset - part.p_offset >= part.p_filesz)
            continue;
        *address = file_offset - part.p_offset + part.p_vaddr;
        return true;
    }
    return false;
}

/* The function of a symbol table that covers the address; the offset of its name. */
static bool table_search(int fd, const Elf64_Shdr *table, uint64_t address, uint64_t *text)
{
    Elf64_Sym symbols[SYMBOLS_AT_ONCE];
    for (uint64_t at = 0; at < table->sh_size;) {
        size_t want = table->sh_size - at < sizeof symbols ? table->sh_size - at : sizeof symbols;
        ssize_t got = os_read_at(fd, symbols, want, table->sh_offset + at);
        if (got < (ssize_t)sizeof symbols[0])
            return false;
        for (size_t i = 0; i < (size_t)got / sizeof symbols[0]; i++)
            if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
                address - symbols[i].st_value < symbols[i].st_size) {
                *text = symbols[i].st_name;
                return true;
            }
        at += (uint64_t)got / sizeof symbols[0] * sizeof symbols[0];
    }
    return false;
}

static bool symbol_find(int fd, const Elf64_Ehdr *head, uint64_t address, char *text, size_t size)
{
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned kind = 0; kind < COUNT_OF(kinds); kind++)
        for (unsigned i = 0; i < head->e_shnum && i < SECTIONS_MAX; i++) {
            Elf64_Shdr table, strings;
            uint64_t name;
            if (os_read_at(fd, &table, sizeof table, head->e_shoff + i * sizeof table) !=
                (ssize_t)sizeof table)
                return false;
            if (table.sh_type != kinds[kind] || !table_search(fd, &table, address, &name))
                continue;
            ssize_t got = os_read_at(fd, &strings, sizeof strings,
                                     head->e_shoff + table.sh_link * sizeof strings);
            if (got == (ssize_t)sizeof strings)
                got = os_read_at(fd, text, size - 1, strings.sh_offset + name);
            text[got > 0 ? got : 0] = '\0';
            return got > 0;
        }
    return false;
}
