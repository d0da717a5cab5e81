/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's allocation functions: the "x" family with its flags, and the plain ones under the
 * names of a build with the prefix je_. Arenas and caches in the flags are labels (mallctl_serve.c)
 * and change nothing. Functions jump to ours where possible, so that their caller is recorded.
 */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/watch/watch.h"

enum { FLAG_LG_ALIGN = 0x3f, FLAG_ZERO = 0x40 };

void *rallocx(void *p, size_t size, int flags);
size_t xallocx(void *p, size_t size, size_t extra, int flags);
size_t sallocx(const void *p, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t size, int flags);

static size_t align_of(int flags);

EXPORT void *mallocx(size_t size, int flags)
{
    size_t align = align_of(flags);
    if (align <= GRANULE)
        return flags & FLAG_ZERO ? calloc(1, size) : malloc(size);
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(align, size, &caller);
    if (block != NULL && flags & FLAG_ZERO)
        large_clear(block, malloc_usable_size(block));
    return block;
}

static size_t align_of(int flags)
{
    return (size_t)1 << (flags & FLAG_LG_ALIGN);
}

/* The block elsewhere, aligned. */
static void *moved(void *p, size_t size, size_t usable, size_t align, const struct caller *caller)
{
    void *block = libc_aligned(align, size, caller);
    if (block == NULL)
        return NULL;
    memcpy(block, p, usable < size ? usable : size);
    libc_free(p, caller);
    return block;
}

EXPORT void *rallocx(void *p, size_t size, int flags)
{
    size_t align = align_of(flags);
    if (align <= GRANULE && !(flags & FLAG_ZERO))
        return realloc(p, size == 0 ? 1 : size);
    struct caller caller = CALLER_HERE;
    size_t usable = malloc_usable_size(p);
    void *block;
    if (align <= GRANULE)
        block = realloc(p, size == 0 ? 1 : size);
    else if ((uintptr_t)p % align == 0 && sizes_stay(usable, size))
        block = p;
    else
        block = moved(p, size, usable, align, &caller);
    if (block != NULL && flags & FLAG_ZERO) {
        size_t now = malloc_usable_size(block);
        if (now > usable)
            memset((char *)block + usable, 0, now - usable);
    }
    return block;
}

/* Blocks do not grow in place: the answer is the present size. */
EXPORT size_t xallocx(void *p, size_t size, size_t extra, int flags)
{
    (void)size;
    (void)extra;
    (void)flags;
    return malloc_usable_size(p);
}

EXPORT size_t sallocx(const void *p, int flags)
{
    (void)flags;
    return malloc_usable_size((void *)p);
}

EXPORT void dallocx(void *p, int flags)
{
    (void)flags;
    free(p);
}

EXPORT void sdallocx(void *p, size_t size, int flags)
{
    (void)size;
    (void)flags;
    free(p);
}

EXPORT size_t nallocx(size_t size, int flags)
{
    if (size == 0 || size > PTRDIFF_MAX || !init_done())
        return 0;
    size_t room = sizes_room(size, align_of(flags));
    if (room <= BLOCK_MAX)
        return class_size(class_of(room));
    size_t units = units_of(size);
    return units > PTRDIFF_MAX >> UNIT_SHIFT ? 0 : units << UNIT_SHIFT;
}

#define SAME(result, name, other, args) \
    EXPORT result name args;            \
    EXPORT result name args __attribute__((alias(#other)))

SAME(void *, je_mallocx, mallocx, (size_t size, int flags));
SAME(void *, je_rallocx, rallocx, (void *p, size_t size, int flags));
SAME(size_t, je_xallocx, xallocx, (void *p, size_t size, size_t extra, int flags));
SAME(size_t, je_sallocx, sallocx, (const void *p, int flags));
SAME(void, je_dallocx, dallocx, (void *p, int flags));
SAME(void, je_sdallocx, sdallocx, (void *p, size_t size, int flags));
SAME(size_t, je_nallocx, nallocx, (size_t size, int flags));

#define JUMP(result, name, args, call) \
    EXPORT result name args;           \
    EXPORT result name args            \
    {                                  \
        return call;                   \
    }

JUMP(void *, je_malloc, (size_t size), malloc(size))
JUMP(void *, je_calloc, (size_t count, size_t size), calloc(count, size))
JUMP(void *, je_realloc, (void *p, size_t size), realloc(p, size))
JUMP(void *, je_aligned_alloc, (size_t align, size_t size), aligned_alloc(align, size))
JUMP(void *, je_memalign, (size_t align, size_t size), memalign(align, size))
JUMP(void *, je_valloc, (size_t size), valloc(size))
JUMP(void *, je_pvalloc, (size_t size), pvalloc(size))
JUMP(int, je_posix_memalign, (void **out, size_t align, size_t size),
     posix_memalign(out, align, size))
JUMP(size_t, je_malloc_usable_size, (void *p), malloc_usable_size(p))
JUMP(void, je_free, (void *p), free(p))
JUMP(void, je_free_sized, (void *p, size_t size), free_sized(p, size))
JUMP(void, je_free_aligned_sized, (void *p, size_t align, size_t size),
     free_aligned_sized(p, align, size))
