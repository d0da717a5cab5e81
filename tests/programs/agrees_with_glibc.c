/* SPDX-License-Identifier: MIT */
/* helper of agrees_with_glibc.sh: prints what every entry point of the malloc family returns and
 * leaves in errno, for odd alignments and sizes. Nothing is printed that differs between
 * allocators for good reasons: addresses, usable sizes, amounts. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
enum { UNTOUCHED = 77, PAGE = 4096 };
static const size_t top = (size_t)1 << 63;

static const size_t aligns[] = {
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    12,
    16,
    24,
    32,
    64,
    100,
    128,
    4095,
    4096,
    4097,
    8192,
    65536,
    1 << 20,
    3 << 20,
    (size_t)1 << 30,
    (size_t)1 << 42,
    top >> 17,
    top >> 16,
    top >> 1,
    (top >> 1) + 8,
    top - 8,
    top - 1,
    top,
    top + 1,
    top + 8,
    SIZE_MAX - 7,
    SIZE_MAX - 1,
    SIZE_MAX,
};
static const size_t sizes[] = {
    0,
    1,
    10,
    16,
    100,
    1000,
    4096,
    4097,
    100000,
    (size_t)1 << 42, /* more than a machine has: the kernel's setting for overcommit decides */
    (size_t)1 << 46,
    top - 100001,
    top - 4097,
    top - 101,
    top - 2,
    top - 1,
    top,
    SIZE_MAX - 100000,
    SIZE_MAX - 4096,
    SIZE_MAX - 4095,
    SIZE_MAX - 100,
    SIZE_MAX - 1,
    SIZE_MAX,
};

static size_t power_above(size_t align)
{
    size_t power = 16;
    while (power < align && power != 0)
        power *= 2;
    return power == 0 ? 1 : power;
}

/* After a call that gave `block`, which must be aligned and long enough, and left errno. */
static void say(const char *call, size_t first, size_t second, void *block, size_t align,
                size_t size)
{
    int error = errno;
    printf("%s(%zx, %zx): %s, errno %d", call, first, second, block == NULL ? "NULL" : "block",
           error);
    if (block != NULL && (uintptr_t)block % align != 0)
        printf(", MISALIGNED");
    if (block != NULL && malloc_usable_size(block) < size)
        printf(", SHORT");
    printf("\n");
    free(block);
}

static void aligned(size_t align, size_t size)
{
    static char mark;
    void *block = &mark;
    errno = UNTOUCHED;
    int code = posix_memalign(&block, align, size);
    printf("posix_memalign(%zx, %zx): %d, %s, errno %d\n", align, size, code,
           block == &mark ? "kept" : "set", errno);
    if (code == 0) {
        if ((uintptr_t)block % align != 0)
            printf("MISALIGNED\n");
        free(block);
    }
    errno = UNTOUCHED;
    say("memalign", align, size, memalign(align, size), power_above(align), size);
    errno = UNTOUCHED;
    say("aligned_alloc", align, size, aligned_alloc(align, size), power_above(align), size);
}

/* A block with a text in it becomes `count` times `size` bytes. */
static void resized(const char *call, size_t count, size_t size, int by_array)
{
    size_t bytes;
    int overflows = __builtin_mul_overflow(count, size, &bytes);
    char *before = malloc(10);
    strcpy(before, "abc");
    errno = UNTOUCHED;
    char *after = by_array ? reallocarray(before, count, size) : realloc(before, size);
    int error = errno;
    char *kept = after != NULL ? after : (overflows || bytes != 0) ? before : NULL;
    printf("%s(p, %zx, %zx): %s, errno %d\n", call, count, size, after == NULL ? "NULL" : "block",
           error);
    if (kept != NULL && (after == NULL || bytes > 4) && strcmp(kept, "abc") != 0)
        printf("LOST\n");
    free(kept);
}

static void plain(size_t size)
{
    errno = UNTOUCHED;
    say("malloc", 0, size, malloc(size), 16, size);
    errno = UNTOUCHED;
    say("valloc", 0, size, valloc(size), PAGE, size);
    errno = UNTOUCHED;
    say("pvalloc", 0, size, pvalloc(size), PAGE, (size + PAGE - 1) & ~(size_t)(PAGE - 1));
    errno = UNTOUCHED;
    say("realloc of NULL", 0, size, realloc(NULL, size), 16, size);
    resized("realloc", 1, size, 0);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        errno = UNTOUCHED;
        say("calloc", sizes[i], size, calloc(sizes[i], size), 16, 0);
        resized("reallocarray", sizes[i], size, 1);
        errno = UNTOUCHED;
        say("reallocarray of NULL", sizes[i], size, reallocarray(NULL, sizes[i], size), 16, 0);
    }
}

/* The kernel looks at what is added, not at the sum. Nothing is written to the block but a text. */
static void grown(size_t before, size_t after)
{
    char *block = malloc(before), *longer;
    if (block == NULL)
        return;
    strcpy(block, "abc");
    errno = UNTOUCHED;
    longer = realloc(block, after);
    printf("realloc of a large block: %s, errno %d\n", longer == NULL ? "NULL" : "block", errno);
    if (strcmp(longer == NULL ? block : longer, "abc") != 0)
        printf("LOST\n");
    free(longer == NULL ? block : longer);
}

static void questions(void)
{
    static const int values[] = {
        -1, 0, 1, 2, 80, 160, 161, 200, 1 << 20, 32 << 20, (32 << 20) + 1, INT_MAX};
    errno = UNTOUCHED;
    size_t none = malloc_usable_size(NULL);
    printf("malloc_usable_size(NULL): %zu, errno %d\n", none, errno);
    for (int option = -12; option <= 8; option++)
        for (size_t i = 0; i < COUNT(values); i++) {
            if (option == M_PERTURB && values[i] != 0)
                continue; /* glibc would fill blocks from now on */
            errno = UNTOUCHED;
            int code = mallopt(option, values[i]);
            printf("mallopt(%d, %d): %d, errno %d\n", option, values[i], code, errno);
        }
    for (int options = -1; options < 3; options += 2) {
        errno = UNTOUCHED;
        int code = malloc_info(options, stdout);
        printf("malloc_info(%d): %d, errno %d\n", options, code, errno);
    }
    struct mallinfo2 before = mallinfo2();
    void *volatile block = malloc(50000);
    struct mallinfo2 after = mallinfo2();
    size_t more = after.uordblks - before.uordblks;
    printf("mallinfo2: grows %d, arena %d\n", more >= 50000 && more<80000, after.arena> 0);
    printf("mallinfo: the same %d\n", (size_t)mallinfo().uordblks == after.uordblks);
    free(block);
    errno = UNTOUCHED;
    malloc_trim(0);
    printf("malloc_trim: errno %d\n", errno);
}

/* malloc_stats with a stream and a buffer of the program's, as programs do that look for a line. */
static void stats_in_a_buffer(void)
{
    static char buffer[1024];
    FILE *real = stderr;
    stderr = fmemopen(buffer, sizeof buffer, "w");
    setvbuf(stderr, NULL, _IOFBF, sizeof buffer);
    malloc_stats();
    fclose(stderr);
    stderr = real;
    const char *line = strstr(buffer, "max mmap bytes   =");
    printf("malloc_stats in a buffer: %s\n", line == NULL ? "not found" : "found");
}

/* It is not a place where a thread is cancelled. */
static void *cancelled(void *unused)
{
    pthread_cancel(pthread_self());
    malloc_stats();
    printf("malloc_stats returns\n");
    pthread_testcancel();
    printf("NOT CANCELLED\n");
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count > 1 && strcmp(arguments[1], "stats") == 0) {
        malloc_stats();
        return 0;
    }
    if (count > 1 && strcmp(arguments[1], "info") == 0)
        return malloc_info(0, stdout);
    for (size_t i = 0; i < COUNT(aligns); i++)
        for (size_t j = 0; j < COUNT(sizes); j++)
            aligned(aligns[i], sizes[j]);
    for (size_t j = 0; j < COUNT(sizes); j++)
        plain(sizes[j]);
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * PAGE;
    grown(1 << 20, (size_t)1 << 42);
    grown(memory / 2, memory + memory / 4);
    questions();
    stats_in_a_buffer();
    pthread_create(&thread, NULL, cancelled, NULL);
    pthread_join(thread, NULL);
    return 0;
}
