/* SPDX-License-Identifier: MIT */
/*
 * See base/loaded.h. The kernel tells where the program's headers are (AT_PHDR). Its dynamic
 * section has the address of a structure for debuggers, DT_DEBUG, in which the loader's list
 * begins. A static program has no list: it is the only object. An object's program headers follow
 * its ELF header, at the start of its first segment.
 */
#include "base/loaded.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "base/os.h"

/* Far above what programs load: a list that was read while it changed may lead in a circle. */
enum { OBJECTS_MAX = 4096, PARTS_MAX = 64 };
enum { STAGE_PROGRAM, STAGE_LIST, STAGE_KERNEL, STAGE_OVER };

static uintptr_t list_find(void);

void loaded_start(struct loaded *loaded)
{
    memset(loaded, 0, offsetof(struct loaded, path));
    loaded->path[0] = '\0';
    loaded->next = list_find();
}

static void text_copy(char *to, size_t size, uintptr_t from)
{
    size_t used = 0;
    while (used + 1 < size && os_peek(to + used, from + used, 1) && to[used] != '\0')
        used++;
    to[used] = '\0';
}

/* The program's headers, and what is added to its addresses. */
static bool program_find(uintptr_t *base, uintptr_t *parts, unsigned *count)
{
    ElfW(Phdr) part;
    bool known = false;
    *parts = getauxval(AT_PHDR);
    *count = (unsigned)getauxval(AT_PHNUM);
    *base = 0;
    for (unsigned i = 0; i < *count && i < PARTS_MAX; i++) {
        if (!os_peek(&part, *parts + i * sizeof part, sizeof part))
            return false;
        if (part.p_type == PT_PHDR) {
            *base = *parts - part.p_vaddr;
            return true;
        }
        /* A static program with fixed addresses has no PT_PHDR. */
        if (!known && part.p_type == PT_LOAD && part.p_offset == 0) {
            *base = (*parts & ~(os_page_size() - 1)) - part.p_vaddr;
            known = true;
        }
    }
    return *parts != 0;
}

/* Where the loader's list begins; 0: there is none. */
static uintptr_t list_find(void)
{
    uintptr_t base, parts, dynamic = 0;
    unsigned count;
    ElfW(Phdr) part;
    ElfW(Dyn) entry;
    struct r_debug debug;
    if (!program_find(&base, &parts, &count))
        return 0;
    for (unsigned i = 0; i < count && i < PARTS_MAX && dynamic == 0; i++)
        if (os_peek(&part, parts + i * sizeof part, sizeof part) && part.p_type == PT_DYNAMIC)
            dynamic = base + part.p_vaddr;
    for (unsigned i = 0; dynamic != 0 && i < 256; i++) {
        if (!os_peek(&entry, dynamic + i * sizeof entry, sizeof entry) || entry.d_tag == DT_NULL)
            return 0;
        if (entry.d_tag == DT_DEBUG)
            return os_peek(&debug, entry.d_un.d_ptr, sizeof debug) ? (uintptr_t)debug.r_map : 0;
    }
    return 0;
}

/* The working directory at the first call, to which relative paths are appended. */
static size_t directory_put(char *path)
{
    static BULK char directory[LOADED_PATH / 2];
    static size_t length;
    static uint8_t known;
    enum { OPEN, BUSY, KNOWN };
    uint8_t open = OPEN;
    if (__atomic_compare_exchange_n(&known, &open, BUSY, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        length = os_directory(directory, sizeof directory);
        store_release(&known, KNOWN);
    }
    if (load_acquire(&known) != KNOWN || length == 0)
        return 0;
    memcpy(path, directory, length);
    path[length] = '/';
    return length + 1;
}

/* The path at `from`, made absolute. Returns its length, 0 if it is too long. */
static size_t path_put(char *path, uintptr_t from)
{
    char first[2] = "";
    size_t used = 0;
    os_peek(first, from, sizeof first);
    if (first[0] != '/')
        used = directory_put(path);
    if (first[0] == '.' && first[1] == '/')
        from += 2;
    text_copy(path + used, LOADED_PATH - used, from);
    used += strlen(path + used);
    return used < LOADED_PATH - 1 ? used : 0;
}

size_t loaded_program(char *path)
{
    uintptr_t file = getauxval(AT_EXECFN);
    directory_put(path); /* remembered for later calls, also where this path is absolute */
    return file == 0 ? 0 : path_put(path, file);
}

/* Takes the object with its ELF header at `at`, if there is one. */
static void object_enter(struct loaded *loaded, uintptr_t at)
{
    ElfW(Ehdr) file;
    ElfW(Phdr) part;
    if (!os_peek(&file, at, sizeof file) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.e_phentsize != sizeof part)
        return;
    loaded->parts = at + file.e_phoff;
    loaded->parts_left = file.e_phnum < PARTS_MAX ? file.e_phnum : PARTS_MAX;
    loaded->base = at;
    for (unsigned i = 0; i < loaded->parts_left; i++)
        if (os_peek(&part, loaded->parts + i * sizeof part, sizeof part) &&
            part.p_type == PT_LOAD) {
            loaded->base = at - (part.p_vaddr - part.p_offset);
            break;
        }
}

/* The next object of the loader's list. The program is in the list, too, without a name. */
static void list_next(struct loaded *loaded)
{
    struct link_map link;
    if (loaded->next == 0 || loaded->count++ == OBJECTS_MAX ||
        !os_peek(&link, loaded->next, sizeof link)) {
        loaded->stage++;
        return;
    }
    loaded->next = (uintptr_t)link.l_next;
    text_copy(loaded->path, sizeof loaded->path, (uintptr_t)link.l_name);
    if (strchr(loaded->path, '/') != NULL) { /* neither the program nor the vdso */
        path_put(loaded->path, (uintptr_t)link.l_name);
        object_enter(loaded, link.l_addr);
    }
}

static bool object_next(struct loaded *loaded)
{
    switch (loaded->stage) {
    case STAGE_PROGRAM:
        loaded->stage++;
        if (program_find(&loaded->base, &loaded->parts, &loaded->parts_left))
            loaded_program(loaded->path);
        return true;
    case STAGE_LIST:
        list_next(loaded);
        return true;
    case STAGE_KERNEL:
        loaded->stage++;
        memcpy(loaded->path, "[vdso]", sizeof "[vdso]");
        object_enter(loaded, getauxval(AT_SYSINFO_EHDR));
        return true;
    default:
        return false;
    }
}

bool loaded_next(struct loaded *loaded, struct loaded_part *found)
{
    ElfW(Phdr) part;
    uint64_t page = os_page_size();
    for (;;) {
        while (loaded->parts_left == 0)
            if (!object_next(loaded))
                return false;
        bool there = os_peek(&part, loaded->parts, sizeof part);
        loaded->parts += sizeof part;
        loaded->parts_left--;
        if (!there || part.p_type != PT_LOAD || part.p_memsz == 0)
            continue;
        uint64_t start = loaded->base + part.p_vaddr;
        if (start + part.p_memsz < start || start + part.p_memsz > UINTPTR_MAX - page)
            continue;
        *found = (struct loaded_part){.start = start & ~(page - 1),
                                      .end = (start + part.p_memsz + page - 1) & ~(page - 1),
                                      .offset = part.p_offset & ~(page - 1),
                                      .object = loaded->count + 1,
                                      .readable = part.p_flags & PF_R,
                                      .writable = part.p_flags & PF_W,
                                      .executable = part.p_flags & PF_X};
        return true;
    }
}
