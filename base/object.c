/* SPDX-License-Identifier: MIT */
/*
 * See base/object.h.
 *
 * Our own table is rewritten in place while other threads read it, so it has a version that is odd
 * during a change. A reader that sees an odd or changed version treats the address as unknown this
 * time.
 *
 * Static programs: the loader's list holds the program alone, or nothing, and `gcc -static` makes
 * no sorted header for its tables. The section is then looked up in the program's file, and the
 * header is made when it is first needed.
 */
#include "base/object.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/cfi.h"
#include "base/compiler.h"
#include "base/loaded.h"
#include "base/os.h"

/* The part of the C library's structure that we use. Declared here under another name, because not
 * all headers have it. */
struct found {
    unsigned long long flags;
    void *start, *end, *link_map, *header;
    unsigned long long rest[9];
};
extern int find_object(void *pc, struct found *found) __asm__("_dl_find_object")
    __attribute__((weak));

/* Objects that are found without the loader, on a glibc before 2.35; code of others has no
 * rules. */
enum { OBJECTS_MAX = 1024 };
static BULK struct object objects[OBJECTS_MAX];
static unsigned objects_count;
static uint32_t objects_version; /* odd while it changes */
static bool refreshed;

/* The program, if it has tables without a header. */
static struct object plain_program;
static const uint8_t *plain_tables;
static size_t plain_size;
static const void *made_header;

static RACY bool table_find(uintptr_t pc, struct object *object);
static const void *header_make(void);
static bool may_ask(void);

bool object_find(uintptr_t pc, struct object *object)
{
    struct found found;
    if (may_ask() && find_object((void *)pc, &found) == 0) {
        object->start = (uintptr_t)found.start;
        object->end = (uintptr_t)found.end;
        object->header = found.header;
    } else if (!table_find(pc, object)) {
        return false;
    }
    if (object->header == NULL && pc >= plain_program.start && pc < plain_program.end)
        object->header = header_make();
    return true;
}

static RACY bool table_find(uintptr_t pc, struct object *object)
{
    uint32_t version = load_acquire(&objects_version);
    bool found = false;
    for (unsigned i = 0; i < objects_count && i < OBJECTS_MAX && !found; i++) {
        *object = objects[i];
        found = pc >= object->start && pc < object->end;
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return found && version % 2 == 0 && load_relaxed(&objects_version) == version;
}

/* Makes the header of a program that has none. No signal meanwhile: a handler may jump out, and no
 * thread would make it then. */
static const void *header_make(void)
{
    static const uint8_t being_made;
    const void *header = load_acquire(&made_header);
    if (header == NULL && plain_tables != NULL) {
        uint64_t signals;
        os_signals_set(UINT64_MAX, &signals);
        if (__atomic_compare_exchange_n(&made_header, &header, &being_made, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            header = cfi_header_make(plain_tables, plain_size);
            store_release(&made_header, header == NULL ? &being_made : header);
        }
        os_signals_set(signals, NULL);
    }
    return header == &being_made ? NULL : header;
}

/* Whether the C library may be asked: in a static program, which no loader has prepared, its first
 * answer allocates. */
static bool may_ask(void)
{
    return find_object != NULL && (load_relaxed(&refreshed) || getauxval(AT_BASE) != 0);
}

/* ---- the table ------------------------------------------------------------------------- */

/* Reads an object's program headers. */
static void object_read(struct object *object, uintptr_t base, const ElfW(Phdr) * parts,
                        size_t count)
{
    *object = (struct object){.start = UINTPTR_MAX};
    for (size_t i = 0; i < count; i++) {
        ElfW(Phdr) part;
        if (!os_peek(&part, (uintptr_t)&parts[i], sizeof part))
            return;
        uintptr_t start = base + part.p_vaddr, end = start + part.p_memsz;
        if (part.p_type == PT_LOAD && start < end) {
            object->start = start < object->start ? start : object->start;
            object->end = end > object->end ? end : object->end;
        } else if (part.p_type == PT_GNU_EH_FRAME) {
            object->header = (const void *)start;
        }
    }
}

static void table_add(const struct object *object)
{
    if (objects_count < OBJECTS_MAX && object->start < object->end)
        objects[objects_count++] = *object;
}

static int object_visit(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    struct object object;
    object_read(&object, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
    table_add(&object);
    return 0;
}

/* The vdso, which not every loader lists. */
static void table_add_kernel(void)
{
    uintptr_t at = getauxval(AT_SYSINFO_EHDR);
    if (at == 0)
        return;
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)at;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(at + file->e_phoff);
    uintptr_t base = at;
    for (unsigned i = 0; i < file->e_phnum; i++)
        if (parts[i].p_type == PT_LOAD)
            base = at - parts[i].p_vaddr;
    struct object object;
    object_read(&object, base, parts, file->e_phnum);
    table_add(&object);
}

/* ---- programs without a header ---------------------------------------------------------- */

static bool file_read(int fd, uint64_t at, void *buffer, size_t size)
{
    return os_read_at(fd, buffer, size, at) == (ssize_t)size;
}

/* Finds .eh_frame by its name among the sections of the program's file. */
static void sections_search(int fd, uintptr_t base)
{
    enum { NAME_SIZE = 10 };
    ElfW(Ehdr) file;
    ElfW(Shdr) names, section;
    char name[NAME_SIZE] = "";
    if (!file_read(fd, 0, &file, sizeof file) || file.e_shentsize != sizeof section ||
        !file_read(fd, file.e_shoff + file.e_shstrndx * sizeof names, &names, sizeof names))
        return;
    for (unsigned i = 1; i < file.e_shnum; i++) {
        if (!file_read(fd, file.e_shoff + i * sizeof section, &section, sizeof section))
            return;
        if (file_read(fd, names.sh_offset + section.sh_name, name, sizeof name) &&
            memcmp(name, ".eh_frame", NAME_SIZE) == 0 && section.sh_addr != 0) {
            plain_size = section.sh_size;
            plain_tables = (const uint8_t *)(base + section.sh_addr);
            return;
        }
    }
}

static void program_read(void)
{
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    uintptr_t base = 0;
    if (parts == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (parts[i].p_type == PT_PHDR)
            base = (uintptr_t)parts - parts[i].p_vaddr;
    struct object program;
    object_read(&program, base, parts, count);
    if (program.start >= program.end || program.header != NULL)
        return;
    char path[LOADED_PATH];
    int fd = os_open("/proc/self/exe", 0x80000 /* O_CLOEXEC */, 0);
    if (fd < 0 && loaded_program(path) > 0)
        fd = os_open(path, 0x80000, 0);
    if (fd < 0)
        return;
    sections_search(fd, base);
    os_close(fd);
    /* Tables outside of the program's memory do not count. */
    if ((uintptr_t)plain_tables < program.start || plain_size > program.end - program.start ||
        (uintptr_t)plain_tables > program.end - plain_size)
        plain_tables = NULL;
    else
        plain_program = program;
}

void objects_refresh(void)
{
    store_relaxed(&refreshed, true);
    enum { IDLE, BUSY, AGAIN };
    static uint8_t state;
    static bool looked;
    bool first = !__atomic_exchange_n(&looked, true, __ATOMIC_ACQ_REL);
    if (first)
        program_read();
    if (find_object != NULL) {
        if (first)
            table_add_kernel();
        return;
    }
    /* A thread that comes while another one is refreshing leaves the work to that one, which then
     * starts again. Waiting could deadlock: the other thread may wait for the loader's lock, which
     * the caller may hold. */
    if (__atomic_exchange_n(&state, AGAIN, __ATOMIC_ACQ_REL) != IDLE)
        return;
    do {
        store_release(&state, BUSY);
        store_relaxed(&objects_version, objects_version + 1);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        objects_count = 0;
        dl_iterate_phdr(object_visit, NULL);
        table_add_kernel();
        store_release(&objects_version, objects_version + 1);
        uint8_t busy = BUSY;
        if (__atomic_compare_exchange_n(&state, &busy, IDLE, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return;
    } while (true);
}
