/* SPDX-License-Identifier: MIT */
/* cfree has been gone from headers and from the link interface since glibc 2.26, but old binaries
 * refer to it, with the version it had in the C library: they must find a cfree that frees our
 * blocks. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

enum { ROUNDS = 100000, BYTES = 3000 };

#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)
#ifdef __x86_64__
__asm__(".symver cfree_of_old, cfree@GLIBC_2.2.5");
#else
__asm__(".symver cfree_of_old, cfree@GLIBC_2.17");
#endif
CHECK_EXTERN void cfree_of_old(void *);
#else
#define cfree_of_old cfree
CHECK_EXTERN void cfree(void *);
#endif

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        void *block = malloc(BYTES);
        CHECK(block != NULL);
        cfree_of_old(block);
    }
    void *large = malloc(5000000);
    cfree_of_old(large);
    errno = ERRNO_UNTOUCHED;
    cfree_of_old(NULL);
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
    return check_result();
}
