/* SPDX-License-Identifier: MIT */
/* hardened_blocks.sh runs it with `harden:on`. Exit status 0, or the line of what went wrong. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)               \
    do {                               \
        if (!(condition))              \
            _exit(__LINE__ % 125 + 1); \
    } while (0)

static unsigned next(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 8;
}

static int is_zero(const char *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (block[i] != 0)
            return 0;
    return 1;
}

/* Sizes of all kinds, replaced, resized and freed; each block holds its own byte. */
static void *work(void *seed)
{
    enum { BLOCKS = 300, ROUNDS = 20000 };
    static __thread char *blocks[BLOCKS];
    static __thread size_t sizes[BLOCKS];
    unsigned state = (unsigned)(uintptr_t)seed;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = next(&state) % BLOCKS;
        size_t size = next(&state) % (round % 50 == 0 ? 200000 : round % 5 == 0 ? 5000 : 200) + 1;
        for (size_t j = 0; j < sizes[i]; j += 37)
            CHECK(blocks[i][j] == (char)(i + 1));
        if (blocks[i] != NULL && round % 3 == 0) {
            size_t kept = size < sizes[i] ? size : sizes[i];
            blocks[i] = realloc(blocks[i], size);
            CHECK(blocks[i] != NULL);
            for (size_t j = 0; j < kept; j += 37)
                CHECK(blocks[i][j] == (char)(i + 1));
        } else {
            free(blocks[i]);
            blocks[i] =
                round % 7 == 0 ? aligned_alloc(64, (size + 63) & ~(size_t)63) : malloc(size);
            CHECK(blocks[i] != NULL && is_zero(blocks[i], size));
        }
        CHECK(malloc_usable_size(blocks[i]) >= size);
        memset(blocks[i], (int)(i + 1), size);
        sizes[i] = size;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
        sizes[i] = 0;
    }
    return NULL;
}

static void used_late(size_t size, unsigned frees)
{
    char *volatile first = malloc(size);
    uintptr_t place = (uintptr_t)first;
    memset(first, 1, size);
    free(first);
    for (unsigned i = 0; i < frees; i++) {
        char *volatile other = malloc(size);
        CHECK((uintptr_t)other != place);
        free(other);
    }
}

/* A freed block that the kernel can't mark as a whole is used again part by part. */
static void used_in_parts(void)
{
    enum { PARTS = 400, PART = 100000 };
    static char *parts[PARTS];
    for (unsigned round = 0; round < 3; round++) {
        char *volatile whole = malloc((size_t)300 << 20);
        CHECK(whole != NULL);
        whole[0] = 1;
        free(whole);
        for (unsigned i = 0; i < PARTS; i++) {
            parts[i] = i % 2 == 0 ? malloc(PART) : memalign(1 << 16, PART);
            CHECK(parts[i] != NULL && is_zero(parts[i], PART));
            memset(parts[i], 1, PART);
        }
        for (unsigned i = 0; i < PARTS; i++)
            free(parts[i]);
    }
}

int main(void)
{
    pthread_t threads[4];
    used_in_parts();
    used_late(64, 48);
    used_late(3000, 7);
    used_late(100000, 30);
    void *volatile none = malloc(0), *volatile other = malloc(0);
    CHECK(none != NULL && none != other && malloc_usable_size(none) == 0);
    none = realloc(none, 10);
    memset(none, 1, 10);
    free(none);
    free(other);
    for (size_t align = 16; align <= 1 << 16; align *= 2) { /* what is told to be usable is */
        none = memalign(align, 0);
        CHECK(none != NULL);
        memset(none, 1, malloc_usable_size(none));
        none = realloc(none, 100);
        CHECK(none != NULL && malloc_usable_size(none) >= 100);
        memset(none, 1, 100);
        free(none);
    }
    for (size_t align = 32; align <= 8192; align *= 2) {
        char *volatile aligned = memalign(align, 0);
        CHECK(aligned != NULL && (uintptr_t)aligned % align == 0);
        memset(aligned, 1, malloc_usable_size(aligned)); /* what it tells may be written to */
        free(aligned);
    }
    static const size_t shorter[][2] = {{62097, 61606}, {38170, 32377}, {61606, 62097}};
    for (unsigned i = 0; i < sizeof shorter / sizeof shorter[0]; i++) {
        void *volatile block = realloc(malloc(shorter[i][0]), shorter[i][1]);
        CHECK(malloc_usable_size(block) == shorter[i][1]);
        memset(block, 1, shorter[i][1]);
        free(block);
    }
    for (uintptr_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    pid_t child = fork(); /* while they are at it */
    CHECK(child >= 0);
    if (child == 0) {
        work((void *)9);
        exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    work((void *)7);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) /* the kernel closes no locked page */
        work((void *)8);
    return 0;
}
