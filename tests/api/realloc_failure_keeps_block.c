/* SPDX-License-Identifier: MIT */ /* static-too */
/* A realloc that fails leaves the block as it was: same contents, same size, still to be freed
 * once. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

CHECK_WEAK void *reallocarray(void *, size_t, size_t);

int main(void)
{
    const size_t sizes[] = {1, 16, 100, 1024, 5000, 33000, 140000, 1 << 20, 40 << 20};
    const size_t refused[] = {SIZE_MAX,       SIZE_MAX - 15,           SIZE_MAX - 4096,
                              PTRDIFF_MAX,    (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX - 4096,
                              (size_t)1 << 57};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        unsigned char *block = malloc(sizes[s]);
        size_t usable = malloc_usable_size(block);
        memset(block, (int)s + 1, usable);
        for (size_t r = 0; r < sizeof refused / sizeof refused[0]; r++) {
            CHECK(realloc(block, opaque_size(refused[r])) == NULL);
            CHECK(reallocarray == NULL || reallocarray(block, opaque_size(refused[r]), 8) == NULL);
            CHECK_EQ(malloc_usable_size(opaque_ptr(block)), usable);
            CHECK_AT(first_other_byte(opaque_ptr(block), usable, (int)s + 1) == usable,
                     "size %zu refused %zu", sizes[s], refused[r]);
        }
        free(block);
    }
    return check_result();
}
