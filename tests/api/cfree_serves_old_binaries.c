/* SPDX-License-Identifier: MIT */
/* cfree has been gone from headers and the link interface since glibc 2.26, but old binaries still ask for
 * it, versioned or not: both find a cfree that frees our blocks. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "tests/api/check.h"

enum { ROUNDS = 100000, BYTES = 3000 };

static void frees_really(void (*function)(void *))
{
    for (int i = 0; i < ROUNDS; i++) {
        void *block = malloc(BYTES);
        CHECK(block != NULL);
        function(block);
    }
    errno = ERRNO_UNTOUCHED;
    function(NULL);
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
}

int main(void)
{
    void (*plain)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
#ifdef __GLIBC__
    if (plain != NULL) {
        frees_really(plain);
    }
#ifdef __x86_64__
    void (*versioned)(void *) = (void (*)(void *))dlvsym(RTLD_DEFAULT, "cfree", "GLIBC_2.2.5");
    CHECK(versioned != NULL);
    if (versioned != NULL) {
        frees_really(versioned);
    }
#endif
#else
    CHECK(plain != NULL);
    if (plain != NULL) {
        frees_really(plain);
    }
#endif
    return check_result();
}
