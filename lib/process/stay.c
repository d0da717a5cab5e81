/* SPDX-License-Identifier: MIT */
/* See lib/process/stay.h. The loader is asked only where nothing else keeps us: not in a program,
 * static or not, and not in a library that is marked. */
#include "lib/process/stay.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "lib/process/next.h"

extern __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern __attribute__((visibility("hidden"), weak)) ElfW(Dyn) _DYNAMIC[];

static bool is_marked(void);
static bool is_program(void);

void stay_loaded(void)
{
    if (_DYNAMIC == NULL || is_program() || is_marked())
        return;
    int (*address)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))next_find("dladdr");
    void *(*open)(const char *, int) = (void *(*)(const char *, int))next_find("dlopen");
    Dl_info library;
    if (address != NULL && open != NULL && address(__ehdr_start, &library) != 0 &&
        library.dli_fname != NULL)
        open(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool is_marked(void)
{
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1)
            return (entry->d_un.d_val & DF_1_NODELETE) != 0;
    return false;
}

static bool is_program(void)
{
    const ElfW(Ehdr) *head = (const void *)__ehdr_start;
    return getauxval(AT_PHDR) == (uintptr_t)__ehdr_start + head->e_phoff;
}
