/* SPDX-License-Identifier: MIT */
/*
 * The program's calls of mmap, munmap, mremap and sbrk, where gperftools' hooks or its profile of
 * mappings are to see them. Only in programs that ask for either are references to these functions
 * pointed at ours, which call libc's: in the program and all its libraries, but libc.
 */
#ifndef GPERFTOOLS_MMAP_CALLS_H
#define GPERFTOOLS_MMAP_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/api/api.h"

typedef void hook_pre_mmap(const void *at, size_t size, int protection, int flags, int fd,
                           off_t offset);
typedef void hook_mmap(const void *result, const void *at, size_t size, int protection, int flags,
                       int fd, off_t offset);
typedef void hook_munmap(const void *at, size_t size);
typedef void hook_mremap(const void *result, const void *before, size_t size_before, size_t size,
                         int flags, const void *target);
typedef void hook_pre_sbrk(ptrdiff_t more);
typedef void hook_sbrk(const void *result, ptrdiff_t more);
/* Not 0: they have done it, with this result. */
typedef int replace_mmap(const void *at, size_t size, int protection, int flags, int fd,
                         off_t offset, void **result);
typedef int replace_munmap(const void *at, size_t size, int *result);

/* Empty places are NULL. */
struct mmap_hooks {
    hook_pre_mmap *pre_mmap[HOOKS_MAX];
    hook_mmap *mmap[HOOKS_MAX];
    hook_munmap *munmap[HOOKS_MAX];
    hook_mremap *mremap[HOOKS_MAX];
    hook_pre_sbrk *pre_sbrk[HOOKS_MAX];
    hook_sbrk *sbrk[HOOKS_MAX];
    replace_mmap *replace_mmap[HOOKS_MAX];
    replace_munmap *replace_munmap[HOOKS_MAX];
};
extern HIDDEN struct mmap_hooks mmap_hooks;

/* From now on the calls come by here. False in static programs and with musl, where they do not. */
bool mmap_calls_watch(void);
/* More libraries may have been loaded since. */
void mmap_calls_loaded(void);

#endif
