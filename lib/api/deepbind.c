/* SPDX-License-Identifier: MIT */
/*
 * Libraries opened with RTLD_DEEPBIND. They find libc's malloc and free before ours, while all
 * other code, libc's strdup included, uses ours: a block of one heap would reach the other's free
 * and end the program. So our dlopen opens the library as asked and then points its references to
 * the allocation functions, and only those, at us. A library with an allocator of its own keeps it.
 *
 * Two more jobs: programs that open the library of an allocator to look up its functions get ours;
 * and when a library is unloaded, the unwinder forgets its code.
 *
 * Not in the static archive. A plain dlopen is passed on by a jump, so that the loader sees the
 * real caller, whose search path counts. musl's loader has no such path, and there the unwinder
 * must know new libraries at once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/object.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"
#include "lib/api/deepbind.h"
#include "lib/api/init.h"
#include "lib/api/libc.h"
#include "lib/api/locks.h"
#include "lib/api/young.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/process/process.h"
#include "lib/watch/watch.h"

static void look(void);
static void *(*next_dlopen(void))(const char *, int);

EXPORT int dlclose(void *handle)
{
    static void *known;
    int (*found)(void *) = (int (*)(void *))next_of(&known, "dlclose");
    look();
    int result = found(handle);
    look();
    objects_refresh();
    unwind_forget();
    dump_recorder_objects();
    return result;
}

/* Reading the list of loaded objects takes a lock of the loader that glibc does not open in a
 * forked child: a thread of the parent may have held it, in dlopen or dlclose. */
static void look(void)
{
    cold_settle();
    if (!young_left_threads())
        unloaded_look(stacks_count());
}

static void *(*next_dlopen(void))(const char *, int)
{
    static void *known;
    return (void *(*)(const char *, int))next_of(&known, "dlopen");
}

#ifndef RTLD_DEEPBIND

EXPORT void *dlopen(const char *file, int mode)
{
    look();
    void *handle = next_dlopen()(file, mode);
    objects_refresh();
    return handle;
}

bool deepbind_apply(struct binding *rows, size_t count)
{
    (void)rows;
    (void)count;
    return false;
}

bool deepbind_point(struct binding *rows, size_t count)
{
    return deepbind_apply(rows, count);
}

bool deepbind_point_first(struct binding *rows, size_t count)
{
    return deepbind_apply(rows, count);
}

void deepbind_count(void)
{
}

void deepbind_remember(void)
{
}

uint64_t deepbind_loads(void)
{
    return 0;
}

#else

static struct binding bindings[] = {
    {"malloc", (void *)malloc, NULL, NULL},
    {"free", (void *)free, NULL, NULL},
    {"calloc", (void *)calloc, NULL, NULL},
    {"realloc", (void *)realloc, NULL, NULL},
    {"reallocarray", (void *)reallocarray, NULL, NULL},
    {"memalign", (void *)memalign, NULL, NULL},
    {"aligned_alloc", (void *)aligned_alloc, NULL, NULL},
    {"posix_memalign", (void *)posix_memalign, NULL, NULL},
    {"valloc", (void *)valloc, NULL, NULL},
    {"pvalloc", (void *)pvalloc, NULL, NULL},
    {"malloc_usable_size", (void *)malloc_usable_size, NULL, NULL},
};

/* One loaded object, as far as we need it. */
struct library {
    uintptr_t base, low, high;  /* low to high: its memory */
    uintptr_t relro, relro_end; /* whole pages, which the loader closes for writing */
    const ElfW(Sym) * symbols;
    const char *names;
    const uint16_t *versions; /* by symbol; NULL: none */
    const ElfW(Verneed) * needed;
    const struct wanted *wanted;
};

/* The functions that are looked for in all of them. */
struct wanted {
    struct binding *rows;
    size_t count;
    uint32_t visited; /* objects so far */
    bool left_out;    /* one of them was */
};

/* An object of the program's start. */
struct first {
    uintptr_t base;
    const ElfW(Phdr) * parts;
    uint32_t count;
};
static BULK struct first first[256];
static uint32_t first_count;
static uint32_t start_count; /* objects of the start in the loader's list, which has them first */

static const struct binding *binding_of(const struct wanted *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(name, wanted->rows[i].name) == 0)
            return wanted->rows[i].libcs == NULL ? NULL : &wanted->rows[i];
    return NULL;
}

static void slot_set(const struct library *library, void **slot, void *value)
{
    uintptr_t page = os_page_size(), at = (uintptr_t)slot & ~(page - 1);
    bool locked = (uintptr_t)slot >= library->relro && (uintptr_t)slot < library->relro_end;
    if (locked && !os_protect((void *)at, page, true))
        return;
    store_relaxed(slot, value);
    if (locked)
        os_protect((void *)at, page, false);
}

/* Whether the object asks for that version of the symbol. */
static bool is_version(const struct library *library, size_t symbol, const char *version)
{
    enum { NUMBER = 0x7fff };
    const ElfW(Verneed) *file = library->needed;
    if (version == NULL || library->versions == NULL || file == NULL)
        return false;
    for (;;) {
        const ElfW(Vernaux) *name = (const void *)((const char *)file + file->vn_aux);
        for (unsigned i = 0; i < file->vn_cnt; i++) {
            if (name->vna_other == (library->versions[symbol] & NUMBER))
                return strcmp(library->names + name->vna_name, version) == 0;
            name = (const void *)((const char *)name + name->vna_next);
        }
        if (file->vn_next == 0)
            return false;
        file = (const void *)((const char *)file + file->vn_next);
    }
}

static void relocations_walk(const struct library *library, const ElfW(Rela) * table, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        unsigned type = (unsigned)ELF64_R_TYPE(table[i].r_info);
        if (type != ARCH_RELOCATION_SLOT && type != ARCH_RELOCATION_DATA)
            continue;
        size_t number = ELF64_R_SYM(table[i].r_info);
        const ElfW(Sym) *symbol = &library->symbols[number];
        const struct binding *binding =
            binding_of(library->wanted, library->names + symbol->st_name);
        if (binding == NULL || symbol->st_shndx != SHN_UNDEF)
            continue;
        void **slot = (void **)(library->base + table[i].r_offset);
        uintptr_t value = (uintptr_t)load_relaxed(slot);
        /* Bound to libc, or not bound yet: then it points at the object's own stub. */
        if ((void *)value == binding->libcs ||
            (value >= library->low && value < library->high &&
             !is_version(library, number, binding->other_version)))
            slot_set(library, slot, binding->ours);
    }
}

/* The loader has relocated some addresses of the dynamic section, and left others as they were. */
static const void *section_at(const struct library *library, uintptr_t at)
{
    return (const void *)(at < library->low ? library->base + at : at);
}

static void object_walk(struct library *library, const ElfW(Dyn) * dynamic)
{
    uintptr_t value[DT_JMPREL + 1] = {0};
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag > 0 && dynamic->d_tag <= DT_JMPREL)
            value[dynamic->d_tag] = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_VERSYM)
            library->versions = section_at(library, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_VERNEED)
            library->needed = section_at(library, dynamic->d_un.d_ptr);
    if (value[DT_SYMTAB] < library->low || value[DT_STRTAB] < library->low)
        return; /* not relocated: the vdso */
    library->symbols = (const ElfW(Sym) *)value[DT_SYMTAB];
    library->names = (const char *)value[DT_STRTAB];
    if (value[DT_JMPREL] != 0 && value[DT_PLTREL] == DT_RELA)
        relocations_walk(library, (const ElfW(Rela) *)value[DT_JMPREL], value[DT_PLTRELSZ]);
    if (value[DT_RELA] != 0)
        relocations_walk(library, (const ElfW(Rela) *)value[DT_RELA], value[DT_RELASZ]);
}

/* Another thread's dlopen puts an object into the list before it relocates it, and closes its RELRO
 * pages after that. Before, it must not find them closed, nor close them between our two steps. */
static bool is_relocated(const struct library *library)
{
    return library->relro >= library->relro_end || !os_word_is_writable((uint32_t *)library->relro);
}

static int object_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct wanted *wanted = context;
    uintptr_t page = os_page_size();
    const ElfW(Dyn) *dynamic = NULL;
    struct library library = {.base = info->dlpi_addr, .low = UINTPTR_MAX, .wanted = wanted};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_LOAD) {
            library.low = start < library.low ? start : library.low;
            library.high = end > library.high ? end : library.high;
        } else if (part->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)start;
        } else if (part->p_type == PT_GNU_RELRO) {
            library.relro = start & ~(page - 1);
            library.relro_end = end & ~(page - 1);
        }
    }
    /* Neither ourselves nor libc. */
    uintptr_t us = (uintptr_t)object_visit, libc = (uintptr_t)wanted->rows[0].libcs;
    bool is_first = wanted->visited++ < first_count;
    if (dynamic == NULL || (us >= library.low && us < library.high) ||
        (libc >= library.low && libc < library.high))
        return 0;
    if (is_first || is_relocated(&library))
        object_walk(&library, dynamic);
    else
        wanted->left_out = true;
    return 0;
}

static NOINLINE void *open_deep(const char *file, int mode)
{
    void *handle = next_dlopen()(file, mode);
    locks_loaded();
    if (handle == NULL || dlsym(RTLD_DEFAULT, "malloc") != (void *)malloc)
        return handle; /* or the program's malloc is not ours */
    deepbind_apply(bindings, COUNT_OF(bindings));
    return handle;
}

bool deepbind_apply(struct binding *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i].libcs = next_find(rows[i].name);
    return deepbind_point(rows, count);
}

/* One walk at a time: it opens pages for writing. In a forked child the walk of a thread that
 * stayed behind never ends. */
static uint32_t walking;
static uint64_t left_out; /* walks that left out an object */

static void walk_begin(void)
{
    enum { PATIENCE_MS = 1000 }; /* far more than a walk over all objects takes */
    turn_wait(&walking, PATIENCE_MS);
}

bool deepbind_point(struct binding *rows, size_t count)
{
    struct wanted wanted = {.rows = rows, .count = count};
    walk_begin();
    dl_iterate_phdr(object_visit, &wanted);
    if (wanted.left_out)
        store_relaxed(&left_out, left_out + 1);
    turn_give(&walking);
    return true;
}

/* By the list alone: asking the loader would bring code and data into memory that most programs
 * never need. */
void deepbind_count(void)
{
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
        start_count++;
}

static int first_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    if (first_count == start_count || first_count == COUNT_OF(first))
        return 1;
    first[first_count++] = (struct first){info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
    return 0;
}

/* Whether this library is one of them: then it stands before libc. If the program opened it, what
 * was loaded before it may be unloaded. */
static bool is_of_start(void)
{
    return dlsym(RTLD_DEFAULT, "pvalloc") != next_find("pvalloc");
}

void deepbind_remember(void)
{
    if (first_count == 0 && is_of_start())
        dl_iterate_phdr(first_visit, NULL);
}

bool deepbind_point_first(struct binding *rows, size_t count)
{
    struct wanted wanted = {.rows = rows, .count = count};
    walk_begin();
    for (uint32_t i = 0; i < first_count; i++) {
        struct dl_phdr_info info = {.dlpi_addr = first[i].base,
                                    .dlpi_phdr = first[i].parts,
                                    .dlpi_phnum = (ElfW(Half))first[i].count};
        object_visit(&info, sizeof info, &wanted);
    }
    turn_give(&walking);
    return first_count != 0;
}

static int loads_visit(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(uint64_t *)loads = info->dlpi_adds;
    return 1;
}

uint64_t deepbind_loads(void)
{
    uint64_t loads = 0;
    dl_iterate_phdr(loads_visit, &loads);
    return loads + load_relaxed(&left_out);
}

/* Whether the file is, by its name, one of the allocators that memoir replaces: libtcmalloc and its
 * variants, libjemalloc, with any version. */
static bool is_replaced(const char *file)
{
    static const char *const names[] = {"libtcmalloc", "libjemalloc"};
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) != 0)
            continue;
        const char *rest = name + length;
        while ((*rest >= 'a' && *rest <= 'z') || *rest == '_')
            rest++;
        if (strncmp(rest, ".so", 3) == 0 && (rest[3] == '\0' || rest[3] == '.'))
            return true;
    }
    return false;
}

/* The real library would start a second, unused heap, and its profiler would see nothing. Instead
 * the caller gets the program's own scope, in which the functions are ours. */
static NOINLINE void *open_replaced(const char *file, int mode)
{
    bool ours = dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc;
    return next_dlopen()(ours ? NULL : file, ours ? mode & ~RTLD_DEEPBIND : mode);
}

/* Whether the file is the same one for every caller. */
static bool is_anywhere_same(const char *file)
{
    return file != NULL && strchr(file, '/') != NULL && strchr(file, '$') == NULL;
}

/* While waits for locks are counted: also those of the new library. */
static NOINLINE void *open_watched(const char *file, int mode)
{
    void *handle = next_dlopen()(file, mode);
    locks_loaded();
    return handle;
}

EXPORT void *dlopen(const char *file, int mode)
{
    look();
    objects_refresh(); /* the objects so far, if the C library has no `_dl_find_object` */
    faces_loaded();
    if (unlikely(file != NULL && is_replaced(file)))
        return open_replaced(file, mode);
    if (unlikely(mode & RTLD_DEEPBIND))
        return open_deep(file, mode);
    if (unlikely(load_relaxed(&waits_running)) && is_anywhere_same(file))
        return open_watched(file, mode);
    return next_dlopen()(file, mode);
}

#endif
