/* SPDX-License-Identifier: MIT */
/* See lib/process/next.h. */
#include "lib/process/next.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"

/* Weak: a static program need not have it. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
extern int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data)
    __attribute__((weak));

void *next_find(const char *name)
{
    return dlsym == NULL ? NULL : dlsym(RTLD_NEXT, name);
}

void *next_find_beside(const void *there, const char *name)
{
    int (*address)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))next_find("dladdr");
    void *(*open)(const char *, int) = (void *(*)(const char *, int))next_find("dlopen");
    Dl_info library;
    if (there == NULL || address == NULL || open == NULL || address(there, &library) == 0)
        return NULL;
    void *handle = open(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle == NULL ? NULL : dlsym(handle, name);
}

void *next_of(void **cached, const char *name)
{
    void *found = load_relaxed(cached);
    if (unlikely(found == NULL)) {
        found = next_find(name);
        store_relaxed(cached, found);
    }
    return found;
}

static int is_library(struct dl_phdr_info *info, size_t size, void *context)
{
    const char *name = context, *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    return slash != NULL && strncmp(slash + 1, name, strlen(name)) == 0;
}

bool next_has_library(const char *name)
{
    return dl_iterate_phdr != NULL && !os_static() &&
           dl_iterate_phdr(is_library, (void *)name) != 0;
}
