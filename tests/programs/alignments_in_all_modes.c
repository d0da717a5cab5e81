/* SPDX-License-Identifier: MIT */
/* alignments_in_all_modes.sh runs it. Alignments up to 16, which an ordinary block has by itself,
 * of blocks that are smaller than that or no multiple of it. Exit status 0, or 1 and a line for
 * each function that returned another one. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "jemalloc/jemalloc.h"
#include "mimalloc.h"

static int wrong;

static void check(const char *function, void *block, size_t align, size_t size)
{
    if (block != NULL && (uintptr_t)block % align == 0) {
        free(block);
        return;
    }
    printf("%s: %p for %zu bytes, aligned to %zu\n", function, block, size, align);
    wrong = 1;
}

static void check_all(size_t align, size_t size)
{
    int flags = MALLOCX_ALIGN(align);
    void *block = NULL;
    check("mallocx", mallocx(size, flags), align, size);
    check("mallocx, zero", mallocx(size, flags | MALLOCX_ZERO), align, size);
    check("rallocx", rallocx(malloc(100), size, flags), align, size);
    check("rallocx, same", rallocx(mallocx(size, flags), size, flags), align, size);
    check("rallocx, large", rallocx(malloc(100000), 100000 + size, flags), align, size);
    check("mi_malloc_aligned", mi_malloc_aligned(size, align), align, size);
    check("mi_zalloc_aligned", mi_zalloc_aligned(size, align), align, size);
    check("mi_malloc_aligned_at", mi_malloc_aligned_at(size, align, 2 * align), align, size);
    check("mi_realloc_aligned", mi_realloc_aligned(malloc(100), size, align), align, size);
    check("mi_realloc_aligned, same", mi_realloc_aligned(malloc(size), size, align), align, size);
    check("mi_realloc_aligned, large", mi_realloc_aligned(malloc(100000), size, align), align,
          size);
    check("mi_aligned_alloc", mi_aligned_alloc(align, size), align, size);
    check("memalign", memalign(align, size), align, size);
    check("aligned_alloc", aligned_alloc(align, size), align, size);
    if (align >= sizeof(void *) && posix_memalign(&block, align, size) == 0)
        check("posix_memalign", block, align, size);
}

int main(void)
{
    for (size_t align = 2; align <= 32; align *= 2)
        for (size_t size = 1; size < 40; size++)
            check_all(align, size);
    for (size_t align = 2; align <= 32; align *= 2)
        for (size_t size = 4091; size < 5000; size += 101)
            check_all(align, size);
    return wrong;
}
