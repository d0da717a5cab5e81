/* SPDX-License-Identifier: MIT */
/*
 * helper: a program that keeps one block in a hundred and knows what that costs: it asks the kernel
 * for its resident memory before and after it frees the blocks of `keeper`, and those of all
 * sites.
 *
 *      PATTERN READY GO     prints "pid N", makes the file READY, waits for the file GO; then
 *                           "keeper HELD RETURNED" and "all HELD RETURNED", in bytes
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 400000, SITES = 8 };

static void **blocks; /* in mapped memory: no blocks of their own */
static unsigned char *whose;
static size_t used, held[2];

static void *touch(void *block, size_t size)
{
    return memset(block, 1, size);
}

__attribute__((noinline)) static void *keeper(size_t size)
{
    void *block = touch(malloc(size), size);
    __asm__ volatile("");
    return block;
}

__attribute__((noinline)) static void *other_keeper(size_t size)
{
    void *block = touch(malloc(size), size);
    __asm__ volatile("nop");
    return block;
}

__attribute__((noinline)) static void *passing(size_t size)
{
    void *block = touch(malloc(size), size);
    __asm__ volatile("nop; nop");
    return block;
}

static long resident(void)
{
    long pages = 0;
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL ||
        sscanf(text, "%*d %ld", &pages) != 1)
        exit(2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void keep(size_t size, int of_keeper)
{
    size_t place = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    blocks[place] = of_keeper ? keeper(size) : other_keeper(size);
    whose[place] = (unsigned char)of_keeper;
    __atomic_fetch_add(&held[of_keeper], malloc_usable_size(blocks[place]), __ATOMIC_RELAXED);
}

/* `count` blocks, of which each hundredth stays, in turns by keeper and others. */
static void fill(size_t count, size_t size, unsigned of_keeper, unsigned of_others)
{
    void **gone = mmap(NULL, count * sizeof *gone, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned turn = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 100 == 50)
            keep(size, turn++ % (of_keeper + of_others) < of_keeper);
        else
            gone[i] = passing(size);
    }
    for (size_t i = 0; i < count; i++)
        free(gone[i]);
    munmap(gone, count * sizeof *gone);
}

static void *thread(void *none)
{
    fill(COUNT / 2, 64, 1, 0);
    return none;
}

/* Never stops: spans come and go under the eyes of the one who looks. */
static void *churn(void *number)
{
    static __thread void *some[2048];
    for (unsigned random = *(unsigned *)number;;) {
        random = random * 1664525u + 1013904223u;
        void **place = &some[random >> 8 & 2047];
        free(*place);
        *place = malloc(random >> 20 == 0 ? 100000 : (random >> 20) % 3000 + 1);
    }
    return NULL;
}

static void make(const char *pattern)
{
    static unsigned numbers[4] = {1, 2, 3, 4};
    static const size_t sizes[] = {16, 48, 112, 320, 1000, 3000, 9000};
    pthread_t threads[4];
    if (strcmp(pattern, "uniform") == 0)
        fill(COUNT, 256, 1, 0);
    if (strcmp(pattern, "among") == 0)
        fill(COUNT, 256, 1, 3);
    if (strcmp(pattern, "phases") == 0) { /* spans of the one, then spans of the others */
        fill(COUNT / 2, 256, 1, 0);
        fill(COUNT / 2, 256, 0, 1);
    }
    for (size_t i = 0; strcmp(pattern, "classes") == 0 && i < sizeof sizes / sizeof *sizes; i++)
        fill((size_t)(32 << 20) / sizes[i], sizes[i], 1, 0);
    for (size_t i = 0; strcmp(pattern, "large") == 0 && i < 100; i++) {
        keep(500000, 1); /* its own pages: nothing of it is empty */
        free(passing(3000000));
    }
    for (size_t i = 0; strcmp(pattern, "dense") == 0 && i < COUNT; i++)
        keep(256, 1);
    for (size_t i = 0; strcmp(pattern, "busy") == 0 && i < 4; i++)
        pthread_create(&threads[i], NULL, churn, &numbers[i]);
    for (size_t i = 0; strcmp(pattern, "threads") == 0 && i < 4; i++)
        pthread_create(&threads[i], NULL, thread, NULL);
    for (size_t i = 0; strcmp(pattern, "threads") == 0 && i < 4; i++)
        pthread_join(threads[i], NULL);
}

static long release(int of_keeper)
{
    malloc_trim(0);
    long before = resident();
    for (size_t i = 0; i < used; i++)
        if (whose[i] == of_keeper)
            free(blocks[i]);
    malloc_trim(0);
    return before - resident();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t room = (size_t)COUNT * 2;
    blocks = mmap(NULL, room * sizeof *blocks, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    whose =
        mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    make(argv[1]);
    malloc_trim(0);
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    fclose(fopen(argv[2], "w"));
    while (access(argv[3], F_OK) != 0)
        usleep(20000);
    long first = release(1), second = release(0);
    printf("keeper %zu %ld\nall %zu %ld\n", held[1], first, held[0] + held[1], first + second);
    return 0;
}
