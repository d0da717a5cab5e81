/* SPDX-License-Identifier: MIT */ /* static-too */
/* free leaves errno alone whatever it has to do inside: small, large (a system call), aligned,
 * NULL, from another thread, and in a burst that sends memory back to the kernel. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>

#include "tests/api/check.h"

enum { BURST = 3000 };

CHECK_WEAK void free_sized(void *, size_t);
CHECK_WEAK void free_aligned_sized(void *, size_t, size_t);

static void *burst[BURST];

static void *free_burst_elsewhere(void *unused)
{
    errno = ERRNO_UNTOUCHED;
    for (int i = 0; i < BURST; i++) {
        free(burst[i]);
    }
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
    return unused;
}

static void burst_fill(size_t step)
{
    for (int i = 0; i < BURST; i++) {
        burst[i] = malloc(1 + (size_t)i * step);
        CHECK(burst[i] != NULL);
    }
}

int main(void)
{
    const size_t sizes[] = {0, 1, 100, 5000, 40000, 200000, 3000000, 70000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *block = malloc(sizes[i]);
        memset(block, 1, sizes[i] < 5000 ? sizes[i] : 5000);
        errno = ERRNO_UNTOUCHED;
        free(block);
        CHECK_EQ(errno, ERRNO_UNTOUCHED);

        block = memalign(8192, sizes[i]);
        errno = ERRNO_UNTOUCHED;
        free(block);
        CHECK_EQ(errno, ERRNO_UNTOUCHED);

        if (free_sized != NULL && free_aligned_sized != NULL) {
            block = malloc(sizes[i]);
            errno = ERRNO_UNTOUCHED;
            free_sized(block, sizes[i]);
            CHECK_EQ(errno, ERRNO_UNTOUCHED);
            block = aligned_alloc(64, sizes[i]);
            errno = ERRNO_UNTOUCHED;
            free_aligned_sized(block, 64, sizes[i]);
            CHECK_EQ(errno, ERRNO_UNTOUCHED);
        }
    }
    errno = ERRNO_UNTOUCHED;
    free(NULL);
    CHECK_EQ(errno, ERRNO_UNTOUCHED);

    burst_fill(97);
    errno = ERRNO_UNTOUCHED;
    for (int i = 0; i < BURST; i++) {
        free(burst[i]);
    }
    CHECK_EQ(errno, ERRNO_UNTOUCHED);

    burst_fill(31);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, free_burst_elsewhere, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return check_result();
}
