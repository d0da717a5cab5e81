/* SPDX-License-Identifier: MIT */ /* static-too */
/* valloc and pvalloc return page-aligned blocks, pvalloc whole pages of them, whatever the page
 * size. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

CHECK_WEAK void *pvalloc(size_t);

int main(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK(pvalloc != NULL);
    for (size_t size = 0; size < 5 * page; size += 61) {
        unsigned char *one = valloc(size);
        unsigned char *two = pvalloc != NULL ? pvalloc(size) : valloc(size);
        size_t rounded = (size + page - 1) / page * page;
        CHECK(one != NULL && two != NULL);
        CHECK_AT(is_aligned(one, page), "valloc(%zu) = %p", size, (void *)one);
        CHECK_AT(is_aligned(two, page), "pvalloc(%zu) = %p", size, (void *)two);
        CHECK_AT(malloc_usable_size(one) >= size, "valloc(%zu)", size);
        CHECK_AT(pvalloc == NULL || malloc_usable_size(two) >= rounded, "pvalloc(%zu)", size);
        memset(one, 1, size);
        memset(two, 2, pvalloc != NULL ? rounded : size);
        CHECK_EQ(first_other_byte(one, size, 1), size);
        free(one);
        free(two);
    }
    return check_result();
}
