/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks, read by its own function in the vdso, as libc does. Not by libc's: another
 * library may stand in for that one (libfaketime does), which allocates at its first call, while we
 * are inside of malloc; and what it tells is not the time.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_call.h"

typedef int clock_reader(clockid_t clock, struct timespec *now);

static uint64_t read_ns(clockid_t clock);
static clock_reader *reader_find(void);
static uintptr_t symbol_find(const ElfW(Dyn) * dynamic, uintptr_t bias, const char *name);

uint64_t os_now_ms(void)
{
    return read_ns(CLOCK_MONOTONIC_COARSE) / 1000000;
}

uint64_t os_now_ns(void)
{
    return read_ns(confined(CONFINE_CLOCK) ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC);
}

uint64_t os_wall_ns(void)
{
    return read_ns(confined(CONFINE_CLOCK) ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME);
}

static uint64_t read_ns(clockid_t clock)
{
    static clock_reader *reader;
    struct timespec now = {0, 0};
    clock_reader *known = load_relaxed(&reader);
    if (unlikely(known == NULL)) {
        known = reader_find();
        store_relaxed(&reader, known);
    }
    known(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int by_call(clockid_t clock, struct timespec *now)
{
    return (int)call3(SYS_clock_gettime, clock, (long)now, 0);
}

/* There is no vdso under valgrind and older versions of qemu. */
static clock_reader *reader_find(void)
{
    int before = errno; /* getauxval changes it if there is no such entry */
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
    errno = before;
    if (file == NULL)
        return by_call;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)((uintptr_t)file + file->e_phoff);
    const ElfW(Phdr) *loaded = NULL, *dynamic = NULL;
    for (unsigned i = 0; i < file->e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && loaded == NULL)
            loaded = &parts[i];
        else if (parts[i].p_type == PT_DYNAMIC)
            dynamic = &parts[i];
    }
    if (loaded == NULL || dynamic == NULL)
        return by_call;
    uintptr_t bias = (uintptr_t)file - loaded->p_vaddr + loaded->p_offset;
    uintptr_t at = symbol_find((const ElfW(Dyn) *)(bias + dynamic->p_vaddr), bias, ARCH_VDSO_CLOCK);
    return at == 0 ? by_call : (clock_reader *)at;
}

/* The kernel's linker script puts the names right behind the symbols: there these end. */
static uintptr_t symbol_find(const ElfW(Dyn) * dynamic, uintptr_t bias, const char *name)
{
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)(bias + dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_STRTAB)
            names = (const char *)(bias + dynamic->d_un.d_ptr);
    }
    for (; symbols != NULL && (const char *)(symbols + 1) <= names; symbols++)
        if (symbols->st_shndx != SHN_UNDEF && strcmp(names + symbols->st_name, name) == 0)
            return bias + symbols->st_value;
    return 0;
}
