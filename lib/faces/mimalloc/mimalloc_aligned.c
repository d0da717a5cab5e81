/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's functions for alignments. The size comes before the alignment, and an alignment that
 * is not a power of two is refused with NULL, where glibc rounds it up.
 */
#include <errno.h>

#include "base/os.h"
#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/watch/watch.h"

/* A function that wants a block: the rest are the fields of its wish. */
#define TAKING(name, args, ...)                                                    \
    FUNCTION(void *, name, args)                                                   \
    {                                                                              \
        struct caller caller = CALLER_HERE;                                        \
        struct wish wish = {__VA_ARGS__};                                          \
        return mimalloc_aligns(wish.align) ? mimalloc_take(&wish, &caller) : NULL; \
    }

TAKING(mi_malloc_aligned, (size_t size, size_t align), .size = size, .align = align)
TAKING(mi_malloc_aligned_at, (size_t size, size_t align, size_t offset), .size = size,
       .align = align, .offset = offset)
TAKING(mi_zalloc_aligned, (size_t size, size_t align), .size = size, .align = align, .zero = true)
TAKING(mi_zalloc_aligned_at, (size_t size, size_t align, size_t offset), .size = size,
       .align = align, .offset = offset, .zero = true)
TAKING(mi_calloc_aligned, (size_t count, size_t size, size_t align),
       .size = mimalloc_product(count, size), .align = align, .zero = true)
TAKING(mi_calloc_aligned_at, (size_t count, size_t size, size_t align, size_t offset),
       .size = mimalloc_product(count, size), .align = align, .offset = offset, .zero = true)
TAKING(mi_memalign, (size_t align, size_t size), .size = size, .align = align)
TAKING(mi_aligned_alloc, (size_t align, size_t size), .size = size, .align = align)
TAKING(mi_valloc, (size_t size), .size = size, .align = os_page_size())

/* And one that wants another size for p. */
#define RESIZING(name, args, ...)                                                       \
    FUNCTION(void *, name, args)                                                        \
    {                                                                                   \
        struct caller caller = CALLER_OF(FAMILY_ANY);                                   \
        struct wish wish = {__VA_ARGS__};                                               \
        return mimalloc_aligns(wish.align) ? mimalloc_resize(p, &wish, &caller) : NULL; \
    }

RESIZING(mi_realloc_aligned, (void *p, size_t size, size_t align), .size = size, .align = align)
RESIZING(mi_realloc_aligned_at, (void *p, size_t size, size_t align, size_t offset), .size = size,
         .align = align, .offset = offset)
RESIZING(mi_rezalloc_aligned, (void *p, size_t size, size_t align), .size = size, .align = align,
         .zero = true)
RESIZING(mi_rezalloc_aligned_at, (void *p, size_t size, size_t align, size_t offset), .size = size,
         .align = align, .offset = offset, .zero = true)
RESIZING(mi_recalloc_aligned, (void *p, size_t count, size_t size, size_t align),
         .size = mimalloc_product(count, size), .align = align, .zero = true)
RESIZING(mi_recalloc_aligned_at, (void *p, size_t count, size_t size, size_t align, size_t offset),
         .size = mimalloc_product(count, size), .align = align, .offset = offset, .zero = true)
RESIZING(mi_aligned_recalloc, (void *p, size_t count, size_t size, size_t align),
         .size = mimalloc_product(count, size), .align = align, .zero = true)
RESIZING(mi_aligned_offset_recalloc,
         (void *p, size_t count, size_t size, size_t align, size_t offset),
         .size = mimalloc_product(count, size), .align = align, .offset = offset, .zero = true)

FUNCTION(void *, mi_pvalloc, (size_t size))
{
    struct caller caller = CALLER_HERE;
    size_t page = os_page_size(), rounded = (size + page - 1) & ~(page - 1);
    if (rounded < size)
        rounded = SIZE_MAX;
    return mimalloc_take(&(struct wish){.size = rounded, .align = page}, &caller);
}

/* As in mimalloc, errno stays. */
FUNCTION(int, mi_posix_memalign, (void **out, size_t align, size_t size))
{
    struct caller caller = CALLER_HERE;
    int before = errno;
    if (out == NULL || align % sizeof(void *) != 0 || !mimalloc_aligns(align))
        return EINVAL;
    void *block = mimalloc_take(&(struct wish){.size = size, .align = align}, &caller);
    errno = before;
    if (block == NULL)
        return ENOMEM;
    *out = block;
    return 0;
}
