/* SPDX-License-Identifier: MIT */
/* helper of debugged_blocks.sh: one case an argument. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int MallocExtension_VerifyAllMemory(void) __attribute__((weak));
int MallocExtension_VerifyMallocMemory(const void *p) __attribute__((weak));
int MallocExtension_VerifyNewMemory(const void *p) __attribute__((weak));
int MallocExtension_MallocMemoryStats(int *blocks, size_t *total, int rows[64])
    __attribute__((weak));
int MallocExtension_GetNumericProperty(const char *name, size_t *value) __attribute__((weak));

static void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static int all_are(const char *p, size_t size, int byte)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)p[i] != byte)
            return 0;
    return 1;
}

static int fills(void)
{
    for (size_t size = 1; size < 20000; size += 97) {
        char *fresh = opaque(malloc(size)), *clear = opaque(calloc(1, size));
        if (!all_are(fresh, size, 0xab) || !all_are(clear, size, 0) ||
            malloc_usable_size(fresh) != size)
            return 1;
        fresh = realloc(fresh, size + 100);
        if (!all_are(fresh, size + 100, 0xab))
            return 2;
        free(fresh);
        if (size < 3000 && !all_are(opaque(fresh), size, 0xcd)) /* NOLINT: that is the question */
            return 3;
        free(clear);
    }
    for (size_t align = 16; align <= 1 << 20; align *= 2)
        for (size_t size = 0; size < 6000; size += size < 200 ? 7 : 501) {
            char *p = memalign(align, size);
            if (p == NULL || (uintptr_t)p % align != 0 || malloc_usable_size(p) != size)
                return 4;
            memset(p, 0, size);
            p = realloc(p, size + 13);
            memset(p, 0, size + 13);
            free(p);
        }
    return 0;
}

static void *work(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed;
    char *blocks[64] = {0};
    for (int i = 0; i < 20000; i++) {
        unsigned at = rand_r(&random) % 64;
        size_t size = rand_r(&random) % (i % 50 == 0 ? 20000 : 300);
        free(blocks[at]);
        blocks[at] = malloc(size);
        memset(blocks[at], (int)size, size);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    return NULL;
}

static int threads(void)
{
    pthread_t all[4];
    int status = 0;
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, work, (void *)i);
    for (int i = 0; i < 10; i++) {
        MallocExtension_VerifyAllMemory();
        if (fork() == 0) {
            work((void *)7);
            exit(0);
        }
    }
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    for (int i = 0, one; i < 10; i++)
        status |= wait(&one) < 0 ? 1 : one;
    return status != 0;
}

/* A write after free is found when the block leaves the queue: not before. */
static int leaves_queue(void)
{
    char *p = opaque(malloc(100));
    free(p);
    ((char *)opaque(p))[5] = 1;
    free(opaque(malloc(1000)));
    fputs("reached\n", stderr);
    free(opaque(malloc(200000)));
    fputs("went on\n", stderr);
    _exit(0);
}

static int sums(void)
{
    int blocks = 0, rows[64], before = 0;
    size_t total = 0, start = 0, live = 0, freed = 0;
    MallocExtension_MallocMemoryStats(&before, &start, rows);
    int row = rows[7];
    char *p = opaque(malloc(100)), *q = opaque(malloc(5000));
    MallocExtension_MallocMemoryStats(&blocks, &total, rows);
    if (blocks != before + 2 || total != start + 5100 || rows[7] != row + 1)
        return 1;
    MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &live);
    free(p);
    free(q);
    MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &freed);
    malloc_stats();
    return freed > live - 5100;
}

int main(int count, char **args)
{
    const char *what = count > 1 ? args[1] : "";
    char *p = opaque(malloc(100));
    if (strcmp(what, "fills") == 0)
        return fills();
    if (strcmp(what, "threads") == 0)
        return threads();
    if (strcmp(what, "leaves_queue") == 0)
        return leaves_queue();
    if (strcmp(what, "sums") == 0)
        return sums();
    if (strcmp(what, "verify") == 0) {
        MallocExtension_VerifyMallocMemory(p);
        MallocExtension_VerifyAllMemory();
        fputs("reached\n", stderr);
        p[100] = 0;
        MallocExtension_VerifyAllMemory();
    }
    if (strcmp(what, "verify_family") == 0)
        MallocExtension_VerifyNewMemory(p);
    if (strcmp(what, "verify_freed") == 0) {
        free(p);
        p[3] = 7; /* NOLINT */
        MallocExtension_VerifyAllMemory();
    }
    if (strcmp(what, "after") == 0) {
        p[100] = 0;
        free(p);
    }
    if (strcmp(what, "read_behind") == 0)
        printf("%d\n", ((char *)opaque(p))[112]);
    if (strcmp(what, "write_behind") == 0)
        p[112] = 1;
    if (strcmp(what, "reuse") == 0) {
        uintptr_t first = (uintptr_t)p;
        free(p);
        for (int i = 0; i < 100000; i++) {
            p = opaque(malloc(100));
            if ((uintptr_t)p == first)
                return 9;
            free(p);
        }
    }
    return 0;
}
