/* SPDX-License-Identifier: MIT */
/* See mmap_calls.h. A hook may call any of these functions itself, and is called again then, as in
 * gperftools. */
#include "lib/faces/gperftools/mmap_calls.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/faces/gperftools/mmap_profile.h"
#include "lib/watch/watch.h"

struct mmap_hooks mmap_hooks;
static bool watching;

static void *own_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
static int own_munmap(void *at, size_t size);
static void *own_mremap(void *at, size_t before, size_t size, int flags, ...);
static void *own_sbrk(intptr_t more);

enum { BIND_MMAP, BIND_MMAP64, BIND_MUNMAP, BIND_MREMAP, BIND_SBRK };
static struct binding bindings[] = {
    [BIND_MMAP] = {"mmap", (void *)own_mmap, NULL, NULL},
    [BIND_MMAP64] = {"mmap64", (void *)own_mmap, NULL, NULL},
    [BIND_MUNMAP] = {"munmap", (void *)own_munmap, NULL, NULL},
    [BIND_MREMAP] = {"mremap", (void *)own_mremap, NULL, NULL},
    [BIND_SBRK] = {"sbrk", (void *)own_sbrk, NULL, NULL},
};

bool mmap_calls_watch(void)
{
    if (deepbind_apply == NULL || !deepbind_apply(bindings, COUNT_OF(bindings)))
        return false;
    store_relaxed(&watching, true);
    return true;
}

void mmap_calls_loaded(void)
{
    if (unlikely(load_relaxed(&watching)))
        deepbind_apply(bindings, COUNT_OF(bindings));
}

/* Calls every hook of a list, with the arguments that follow. */
#define CALL_ALL(list, ...)                                      \
    for (unsigned i_ = 0; i_ < HOOKS_MAX; i_++) {                \
        __typeof__((list)[0]) hook_ = load_acquire(&(list)[i_]); \
        if (unlikely(hook_ != NULL))                             \
            hook_(__VA_ARGS__);                                  \
    }

static uintptr_t rounded(uintptr_t end)
{
    uintptr_t page = os_page_size();
    return (end + page - 1) & ~(page - 1);
}

static NOINLINE void *own_mmap(void *at, size_t size, int protection, int flags, int fd,
                               off_t offset)
{
    struct caller caller = CALLER_HERE;
    void *(*next)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))bindings[BIND_MMAP].libcs;
    replace_mmap *replace = load_acquire(&mmap_hooks.replace_mmap[0]);
    void *got = NULL;
    CALL_ALL(mmap_hooks.pre_mmap, at, size, protection, flags, fd, offset)
    if (replace == NULL || replace(at, size, protection, flags, fd, offset, &got) == 0) {
        got = next(at, size, protection, flags, fd, offset);
        int error = errno;
        if (got != MAP_FAILED) {
            uintptr_t end = rounded((uintptr_t)got + size);
            if (flags & MAP_FIXED)
                mmap_profile_unmapped((uintptr_t)got, end, &caller);
            mmap_profile_mapped((uintptr_t)got, end, &caller);
        }
        mmap_profile_say(
            "mmap(start=%p, len=%zu, prot=0x%x, flags=0x%x, fd=%d, offset=0x%lx) = %p\n", at, size,
            (unsigned)protection, (unsigned)flags, fd, (unsigned long)offset, got);
        errno = error;
    }
    CALL_ALL(mmap_hooks.mmap, got, at, size, protection, flags, fd, offset)
    return got;
}

static NOINLINE int own_munmap(void *at, size_t size)
{
    struct caller caller = CALLER_HERE;
    int (*next)(void *, size_t) = (int (*)(void *, size_t))bindings[BIND_MUNMAP].libcs;
    replace_munmap *replace = load_acquire(&mmap_hooks.replace_munmap[0]);
    int result = 0;
    CALL_ALL(mmap_hooks.munmap, at, size)
    if (replace != NULL && replace(at, size, &result) != 0)
        return result;
    /* Before the call: afterwards the address may be another thread's. */
    mmap_profile_unmapped((uintptr_t)at, rounded((uintptr_t)at + size), &caller);
    result = next(at, size);
    int error = errno;
    mmap_profile_say("munmap(start=%p, len=%zu)\n", at, size);
    errno = error;
    return result;
}

static NOINLINE void *own_mremap(void *at, size_t before, size_t size, int flags, ...)
{
    struct caller caller = CALLER_HERE;
    void *(*next)(void *, size_t, size_t, int, ...) =
        (void *(*)(void *, size_t, size_t, int, ...))bindings[BIND_MREMAP].libcs;
    va_list list;
    va_start(list, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    void *got = next(at, before, size, flags, target);
    int error = errno;
    if (got != MAP_FAILED) {
        mmap_profile_unmapped((uintptr_t)at, rounded((uintptr_t)at + before), &caller);
        mmap_profile_mapped((uintptr_t)got, rounded((uintptr_t)got + size), &caller);
    }
    mmap_profile_say(
        "mremap(old_addr=%p, old_size=%zu, new_size=%zu, flags=0x%x, new_addr=%p) = %p\n", at,
        before, size, (unsigned)flags, target, got);
    errno = error;
    CALL_ALL(mmap_hooks.mremap, got, at, before, size, flags, target)
    return got;
}

static NOINLINE void *own_sbrk(intptr_t more)
{
    struct caller caller = CALLER_HERE;
    void *(*next)(intptr_t) = (void *(*)(intptr_t))bindings[BIND_SBRK].libcs;
    if (more == 0)
        return next(more); /* it asks where the end is, and for nothing */
    CALL_ALL(mmap_hooks.pre_sbrk, more)
    void *got = next(more);
    int error = errno;
    if (got != (void *)-1 && more > 0)
        mmap_profile_mapped((uintptr_t)got, (uintptr_t)got + (uintptr_t)more, &caller);
    else if (got != (void *)-1)
        mmap_profile_unmapped((uintptr_t)got + (uintptr_t)more, (uintptr_t)got, &caller);
    mmap_profile_say("sbrk(inc=%ld) = %p\n", (long)more, got);
    errno = error;
    CALL_ALL(mmap_hooks.sbrk, got, more)
    return got;
}
