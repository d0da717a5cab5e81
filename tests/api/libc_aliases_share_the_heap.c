/* SPDX-License-Identifier: MIT */ /* static-too */
/* Old programs reach the allocator by the names __libc_malloc and so on: what one name allocates
 * the other frees. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

#ifdef __GLIBC__
CHECK_EXTERN void *__libc_malloc(size_t);
CHECK_EXTERN void __libc_free(void *);
CHECK_EXTERN void *__libc_calloc(size_t, size_t);
CHECK_EXTERN void *__libc_realloc(void *, size_t);
CHECK_EXTERN void *__libc_memalign(size_t, size_t);
CHECK_EXTERN void *__libc_valloc(size_t);
CHECK_EXTERN void *__libc_pvalloc(size_t);

int main(void)
{
    for (size_t size = 1; size < 2000000; size += size / 2 + 1) {
        unsigned char *one = __libc_malloc(size);
        CHECK(one != NULL && malloc_usable_size(one) >= size);
        memset(one, 7, size);
        one = realloc(one, size * 2);
        CHECK_EQ(first_other_byte(one, size, 7), size);
        free(one);

        __libc_free(malloc(size));
        free(__libc_realloc(malloc(size), size + 1));
        unsigned char *zero = __libc_calloc(1, size);
        CHECK_EQ(first_other_byte(zero, size, 0), size);
        free(zero);

        void *aligned = __libc_memalign(256, size);
        CHECK(is_aligned(aligned, 256));
        free(realloc(aligned, size + 100));
        void *page = __libc_valloc(size);
        void *pages = __libc_pvalloc(size);
        CHECK(is_aligned(page, (size_t)getpagesize()) && is_aligned(pages, (size_t)getpagesize()));
        __libc_free(page);
        free(pages);
    }
    errno = ERRNO_UNTOUCHED;
    CHECK(__libc_malloc(opaque_size(SIZE_MAX)) == NULL);
    CHECK_EQ(errno, ENOMEM);
    return check_result();
}
#else
/* musl has no such names to interpose; __libc_malloc there is its own business. */
int main(void)
{
    void *block = malloc(10);
    CHECK(block != NULL);
    free(block);
    return check_result();
}
#endif
