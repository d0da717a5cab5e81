/* SPDX-License-Identifier: MIT */
/* See lib/process/next.h. */
#include "lib/process/next.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/compiler.h"

/* Weak: a static program need not have it. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

void *next_find(const char *name)
{
    return dlsym == NULL ? NULL : dlsym(RTLD_NEXT, name);
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
