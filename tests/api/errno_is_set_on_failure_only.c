/* SPDX-License-Identifier: MIT */ /* static-too */
/* errno is ENOMEM after every failure and untouched by every success: the glibc column of the table
 * in docs/COMPATIBILITY.md, row by row. errno is set to a value that no call produces before each
 * row. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

CHECK_WEAK void *pvalloc(size_t);
CHECK_WEAK void *reallocarray(void *, size_t, size_t);

#define SUCCEEDS(call)                                                        \
    do {                                                                      \
        errno = ERRNO_UNTOUCHED;                                              \
        void *block = opaque_ptr(call);                                       \
        int after = errno;                                                    \
        CHECK_AT(block != NULL, "%s", #call);                                 \
        CHECK_AT(after == ERRNO_UNTOUCHED, "%s left errno %d", #call, after); \
        CHECK_AT(is_aligned(block, 16), "%s", #call);                         \
        free(block);                                                          \
    } while (0)

#define FAILS(call, code)                                            \
    do {                                                             \
        errno = ERRNO_UNTOUCHED;                                     \
        void *block = opaque_ptr(call);                              \
        int after = errno;                                           \
        CHECK_AT(block == NULL, "%s", #call);                        \
        CHECK_AT(after == (code), "%s left errno %d", #call, after); \
    } while (0)

static const size_t far_too_much = SIZE_MAX - 99;
static const size_t half_of_all = PTRDIFF_MAX;
/* Below PTRDIFF_MAX, above every address space of the machines we know. */
static const size_t more_than_there_is = (size_t)1 << 57;

static void first_call_of_the_process(void)
{
    errno = ERRNO_UNTOUCHED;
    void *block = opaque_ptr(malloc(opaque_size(0)));
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
    CHECK(block != NULL);
    free(block);
}

static void malloc_and_calloc(void)
{
    SUCCEEDS(malloc(opaque_size(0)));
    SUCCEEDS(malloc(opaque_size(1)));
    SUCCEEDS(malloc(opaque_size(100000)));
    SUCCEEDS(malloc(opaque_size(100000000)));
    SUCCEEDS(calloc(opaque_size(0), 5));
    SUCCEEDS(calloc(opaque_size(5), 0));
    SUCCEEDS(calloc(opaque_size(1000), 1000));
    FAILS(malloc(opaque_size(half_of_all)), ENOMEM);
    FAILS(malloc(opaque_size(half_of_all + 1)), ENOMEM);
    FAILS(malloc(opaque_size(far_too_much)), ENOMEM);
    FAILS(malloc(opaque_size(SIZE_MAX)), ENOMEM);
    FAILS(malloc(opaque_size(more_than_there_is)), ENOMEM);
    FAILS(calloc(opaque_size(half_of_all), 4), ENOMEM);
    FAILS(calloc(opaque_size(1), more_than_there_is), ENOMEM);
    FAILS(calloc(opaque_size(SIZE_MAX), opaque_size(SIZE_MAX)), ENOMEM);
    FAILS(calloc(opaque_size((size_t)1 << 32), (size_t)1 << 32), ENOMEM);
}

static void realloc_and_reallocarray(void)
{
    SUCCEEDS(realloc(NULL, opaque_size(0)));
    SUCCEEDS(realloc(NULL, opaque_size(10)));
    SUCCEEDS(realloc(malloc(10), opaque_size(1000)));
    SUCCEEDS(realloc(malloc(1000000), opaque_size(10)));
    SUCCEEDS(realloc(malloc(1000000), opaque_size(50000000)));
    FAILS(realloc(NULL, opaque_size(far_too_much)), ENOMEM);
    FAILS(realloc(malloc(10), opaque_size(0)), ERRNO_UNTOUCHED);
    FAILS(realloc(malloc(1000000), opaque_size(0)), ERRNO_UNTOUCHED);

    void *kept = malloc(10);
    FAILS(realloc(kept, opaque_size(far_too_much)), ENOMEM);
    FAILS(realloc(kept, opaque_size(half_of_all)), ENOMEM);
    FAILS(realloc(kept, opaque_size(more_than_there_is)), ENOMEM);
    if (CHECK(reallocarray != NULL)) {
        FAILS(reallocarray(kept, opaque_size(half_of_all), 4), ENOMEM);
        FAILS(reallocarray(NULL, opaque_size(SIZE_MAX), 2), ENOMEM);
        FAILS(reallocarray(malloc(3), opaque_size(0), 2), ERRNO_UNTOUCHED);
        SUCCEEDS(reallocarray(NULL, opaque_size(10), 10));
        SUCCEEDS(reallocarray(malloc(3), opaque_size(1000), 1000));
    }
    free(kept);
}

static void aligned(void)
{
    SUCCEEDS(aligned_alloc(opaque_size(3), 10));
    SUCCEEDS(aligned_alloc(opaque_size(64), 100));
    SUCCEEDS(aligned_alloc(opaque_size(0), 100));
    SUCCEEDS(memalign(opaque_size(3), 10));
    SUCCEEDS(memalign(opaque_size(0), 10));
    SUCCEEDS(memalign(opaque_size(4096), 0));
    FAILS(memalign(opaque_size(64), opaque_size(far_too_much)), ENOMEM);
    FAILS(memalign(opaque_size(16), opaque_size(half_of_all)), ENOMEM);
    FAILS(memalign(opaque_size(64), opaque_size(SIZE_MAX - 10)), ENOMEM);
    FAILS(memalign((size_t)1 << 62, opaque_size(half_of_all)), ENOMEM);
    FAILS(aligned_alloc(opaque_size(64), opaque_size(half_of_all)), ENOMEM);
    FAILS(memalign(((size_t)1 << 63) + 1, 100), EINVAL);
    FAILS(aligned_alloc(((size_t)1 << 63) + 1, 100), EINVAL);
    FAILS(aligned_alloc(opaque_size(SIZE_MAX), 100), EINVAL);
    for (int shift = 48; shift < 64; shift++) {
        FAILS(memalign((size_t)1 << shift, (size_t)1 << 48), ENOMEM);
    }
    SUCCEEDS(valloc(opaque_size(10)));
    SUCCEEDS(valloc(opaque_size(0)));
    FAILS(valloc(opaque_size(SIZE_MAX)), ENOMEM);
    FAILS(valloc(opaque_size(half_of_all)), ENOMEM);
    if (CHECK(pvalloc != NULL)) {
        SUCCEEDS(pvalloc(opaque_size(10)));
        SUCCEEDS(pvalloc(opaque_size(0)));
        FAILS(pvalloc(opaque_size(SIZE_MAX)), ENOMEM);
        FAILS(pvalloc(opaque_size(SIZE_MAX - 5000)), ENOMEM);
        FAILS(pvalloc(opaque_size(half_of_all)), ENOMEM);
    }
}

static void posix_memalign_returns_its_code(void)
{
    static char mark;
    const size_t refused[] = {0, 1, 2, 3, 4, 12, 24, 100, ((size_t)1 << 63) + 8, SIZE_MAX};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        void *block = &mark;
        errno = ERRNO_UNTOUCHED;
        CHECK_EQ(posix_memalign(&block, opaque_size(refused[i]), 10), EINVAL);
        CHECK_EQ(errno, ERRNO_UNTOUCHED);
        CHECK_AT(block == &mark, "alignment %zu", refused[i]);
    }
    const size_t too_large[] = {half_of_all, far_too_much, SIZE_MAX, more_than_there_is};
    for (size_t i = 0; i < sizeof too_large / sizeof too_large[0]; i++) {
        void *block = &mark;
        errno = ERRNO_UNTOUCHED;
        CHECK_EQ(posix_memalign(&block, 64, opaque_size(too_large[i])), ENOMEM);
        CHECK_EQ(errno, ENOMEM);
        CHECK_AT(block == &mark, "size %zu", too_large[i]);
    }
    void *block = &mark;
    CHECK_EQ(posix_memalign(&block, opaque_size((size_t)1 << 63), 10), ENOMEM);
    CHECK(block == &mark);
    errno = ERRNO_UNTOUCHED;
    CHECK_EQ(posix_memalign(&block, opaque_size(64), 0), 0);
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
    CHECK(block != &mark && is_aligned(block, 64));
    free(block);
}

int main(void)
{
    first_call_of_the_process();
    malloc_and_calloc();
    realloc_and_reallocarray();
    aligned();
    posix_memalign_returns_its_code();
    return check_result();
}
