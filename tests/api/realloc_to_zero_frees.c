/* SPDX-License-Identifier: MIT */ /* static-too */
/* realloc(p, 0) frees p and returns NULL; realloc(NULL, n) allocates. A million of them in a
 * bounded address space show that the blocks are really gone. */
#define _GNU_SOURCE
#include <malloc.h>
#include <sys/resource.h>

#include "tests/api/check.h"

enum { ROUNDS = 100000, BLOCK_BYTES = 100000 };

int main(void)
{
    /* 100,000 blocks of 100,000 bytes are 10 GB, were they kept. */
    struct rlimit limit = {.rlim_cur = (rlim_t)4 << 30, .rlim_max = (rlim_t)4 << 30};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char *block = realloc(NULL, opaque_size(BLOCK_BYTES));
        if (!CHECK(block != NULL)) {
            break;
        }
        block[0] = 1;
        CHECK(realloc(block, opaque_size(0)) == NULL);
        block = realloc(NULL, opaque_size(0));
        CHECK(block != NULL);
        CHECK(realloc(block, opaque_size(0)) == NULL);
    }
    return check_result();
}
