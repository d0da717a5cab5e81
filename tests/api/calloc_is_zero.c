/* SPDX-License-Identifier: MIT */ /* static-too */
/* calloc returns zero, above all from memory that was dirty: freed here, freed by another thread,
 * the tail cut off by realloc, sent back to the kernel and taken again. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>

#include "tests/api/check.h"

enum { COUNT = 200, DIRT = 0xD1 };

CHECK_WEAK int malloc_trim(size_t);

static const size_t sizes[] = {1,      7,      16,     24,     33,      64,      100,
                               256,    1000,   1024,   1025,   2047,    4096,    5000,
                               8192,   10000,  16384,  32768,  32769,   65536,   90000,
                               131072, 262144, 300000, 524289, 1 << 20, 3 << 20, 9 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void *blocks[COUNT];

static size_t count_for(size_t size)
{
    return size > (1 << 18) ? 3 : size > 8192 ? 20 : COUNT;
}

static void fill_dirty(size_t size)
{
    for (size_t i = 0; i < count_for(size); i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], DIRT, malloc_usable_size(blocks[i]));
    }
}

static void free_all(size_t size)
{
    for (size_t i = 0; i < count_for(size); i++) {
        free(blocks[i]);
    }
}

static void expect_zero(size_t size, const char *after)
{
    for (size_t i = 0; i < count_for(size); i++) {
        blocks[i] = i % 2 ? calloc(1, size) : calloc(size, 1);
        CHECK(blocks[i] != NULL);
        CHECK_AT(first_other_byte(blocks[i], size, 0) == size, "size %zu after %s", size, after);
        memset(blocks[i], DIRT, size);
    }
    free_all(size);
}

static void *free_elsewhere(void *size)
{
    free_all(*(size_t *)size);
    return NULL;
}

static void after_remote_free(size_t size)
{
    pthread_t thread;
    fill_dirty(size);
    CHECK_EQ(pthread_create(&thread, NULL, free_elsewhere, &size), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    expect_zero(size, "a free by another thread");
}

static void after_realloc(size_t size)
{
    fill_dirty(size * 4);
    for (size_t i = 0; i < count_for(size * 4); i++) {
        blocks[i] = realloc(blocks[i], size);
        CHECK(blocks[i] != NULL);
    }
    free_all(size * 4);
    expect_zero(size, "realloc to less");
    expect_zero(size * 3, "realloc to less");
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        for (size_t s = 0; s < SIZES; s++) {
            expect_zero(sizes[s], "nothing");
            fill_dirty(sizes[s]);
            free_all(sizes[s]);
            expect_zero(sizes[s], "free");
            after_remote_free(sizes[s]);
            after_realloc(sizes[s]);
            if (malloc_trim != NULL) {
                fill_dirty(sizes[s]);
                free_all(sizes[s]);
                malloc_trim(0);
                expect_zero(sizes[s], "malloc_trim");
            }
        }
    }
    return check_result();
}
