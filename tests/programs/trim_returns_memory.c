/* SPDX-License-Identifier: MIT */
/* run-serial */
/* 200 MB in blocks of all sizes, written and freed: malloc_trim gives them back at once, memory
 * freed by other threads and in other threads' caches included, and the heap works on. */
#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { TOTAL_MIB = 200, BLOCKS_MAX = 1 << 20, STAYS_MIB = 24 };

static unsigned char *blocks[BLOCKS_MAX];
static unsigned count;

static void fill(size_t size)
{
    count = (unsigned)(TOTAL_MIB * MIB / size);
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
}

static void *free_all(void *unused)
{
    for (unsigned i = 0; i < count; i++) {
        free(blocks[i]);
    }
    return unused;
}

static void *fill_and_free(void *size)
{
    fill(*(size_t *)size);
    return free_all(NULL);
}

int main(void)
{
    const size_t sizes[] = {200, 1000, 8000, 30000, 100000, 2000000, 60000000};
    alarm(110);
    CHECK(heap_works(1));
    memset(blocks, 1, sizeof blocks); /* ours, and resident from the start */
    size_t start = resident_bytes();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int way = 0; way < 3; way++) {
            pthread_t thread;
            size_t size = sizes[s];
            if (way < 2) {
                fill(size);
                CHECK_AT(resident_bytes() > start + TOTAL_MIB * MIB * 3 / 4, "size %zu", size);
            }
            if (way == 0) {
                free_all(NULL);
            } else {
                CHECK_EQ(pthread_create(&thread, NULL, way == 1 ? free_all : fill_and_free, &size),
                         0);
                CHECK_EQ(pthread_join(thread, NULL), 0);
            }
            malloc_trim(0);
            size_t now = resident_bytes(), stay = now > start ? (now - start) / MIB : 0;
            CHECK_AT(stay < STAYS_MIB, "size %zu way %d: %zu MiB stay", size, way, stay);
            if (stay >= TOTAL_MIB) {
                return check_result(); /* 21 times that would be too much for the machine */
            }
        }
    }
    CHECK(heap_works(2));
    return check_result();
}
