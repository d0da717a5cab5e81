/* SPDX-License-Identifier: MIT */
/* helper: exhaustion_ends_in_enomem.sh runs this once for each mode of the profiler.
 *
 * For every size and every entry point: allocates until the address space ends, sees NULL and
 * ENOMEM, frees everything, and does so again: the second time there is as much to be had. No call
 * may take a second of CPU time. With an argument that many threads do the same at the same
 * time. The blocks are linked through their first words, so that the test itself needs no
 * memory. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <new>

extern "C" {
#define WEAK __attribute__((weak))
WEAK void *mallocx(size_t, int);
WEAK void *rallocx(void *, size_t, int);
WEAK void *je_malloc(size_t);
WEAK void *je_calloc(size_t, size_t);
WEAK void *je_realloc(void *, size_t);
WEAK void *je_aligned_alloc(size_t, size_t);
WEAK int je_posix_memalign(void **, size_t, size_t);
WEAK void *je_mallocx(size_t, int);
WEAK void *tc_malloc(size_t);
WEAK void *tc_calloc(size_t, size_t);
WEAK void *tc_realloc(void *, size_t);
WEAK void *tc_memalign(size_t, size_t);
WEAK int tc_posix_memalign(void **, size_t, size_t);
WEAK void *tc_new_nothrow(size_t, const std::nothrow_t &);
WEAK void *tc_newarray(size_t);
}

enum { ROOM_MIB = 10, ENTRY_POINTS = 29, SMALL_ENTRY_POINTS = 10, SMALL = 1000, ZERO_FLAG = 0x40 };

static int failures;

static void complain(const char *what, unsigned which, size_t size, long number)
{
    char line[200];
    int length = snprintf(line, sizeof line, "entry point %u, size %zu: %s (%ld)\n", which, size,
                          what, number);
    failures++;
    if (write(2, line, (size_t)length) < 0)
        _exit(3);
}

static void *thrown(void *(*call)(size_t), size_t size)
{
    try {
        return call(size);
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
        return NULL;
    }
}

static void *new_aligned(size_t size)
{
    return ::operator new(size, std::align_val_t(128));
}

static void *by_code(int (*call)(void **, size_t, size_t), size_t align, size_t size)
{
    void *block = NULL;
    int code = call(&block, align, size);
    errno = code == 0 ? errno : code;
    return code == 0 ? block : NULL;
}

/* A block that grew from one byte; a realloc that fails leaves the block. */
static void *grown(void *(*call)(void *, size_t), size_t size)
{
    void *small = malloc(1), *block = small == NULL ? NULL : call(small, size);
    if (block == NULL) {
        free(small);
        errno = ENOMEM;
    }
    return block;
}

static void *rallocx_plain(void *p, size_t size)
{
    return rallocx(p, size, 0);
}

static void *take(unsigned which, size_t size)
{
    switch (which) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(1, size);
    case 2:
        return grown(realloc, size);
    case 3:
        return memalign(64, size);
    case 4:
        return by_code(posix_memalign, 256, size);
    case 5:
        return aligned_alloc(32, size);
    case 6:
        return thrown(::operator new, size);
    case 7:
        return je_malloc(size);
    case 8:
        return mallocx(size, 0);
    case 9:
        return tc_malloc(size);
    case 10:
        return realloc(NULL, size);
    case 11:
        return reallocarray(NULL, 1, size);
    case 12:
        return memalign(8192, size);
    case 13:
        return valloc(size);
    case 14:
        return pvalloc(size);
    case 15:
        return ::operator new(size, std::nothrow);
    case 16:
        return thrown(::operator new[], size);
    case 17:
        return thrown(new_aligned, size);
    case 18:
        return je_calloc(1, size);
    case 19:
        return grown(je_realloc, size);
    case 20:
        return je_aligned_alloc(64, size);
    case 21:
        return by_code(je_posix_memalign, 64, size);
    case 22:
        return je_mallocx(size, ZERO_FLAG);
    case 23:
        return grown(rallocx_plain, size);
    case 24:
        return tc_calloc(1, size);
    case 25:
        return tc_memalign(512, size);
    case 26:
        return by_code(tc_posix_memalign, 64, size);
    case 27:
        return tc_new_nothrow(size, std::nothrow);
    default:
        return thrown(tc_newarray, size);
    }
}

static long cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How many blocks there were. */
static long exhaust(unsigned which, size_t size)
{
    void **last = NULL;
    long count = 0, before = cpu_ms();
    for (;; count++) {
        errno = 0;
        void **block = (void **)take(which, size);
        if (block == NULL)
            break;
        *block = last;
        last = block;
        if (count % 64 == 0)
            before = cpu_ms();
    }
    if (errno != ENOMEM)
        complain("errno", which, size, errno);
    if (cpu_ms() - before >= 1000)
        complain("the last calls took long, ms", which, size, cpu_ms() - before);
    before = cpu_ms();
    for (int i = 0; i < 20; i++) {
        void *block = take(which, size);
        if (cpu_ms() - before >= 1000)
            complain("a call without memory took long, ms", which, size, cpu_ms() - before);
        before = cpu_ms();
        free(block);
    }
    while (last != NULL) {
        void **next = (void **)*last;
        free(last);
        last = next;
    }
    return count;
}

static const size_t sizes[] = {16, 48, 600, 5000, 30000, 33000, 200000, 1 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void *run(void *alone)
{
    for (unsigned s = 0; s < SIZES; s++)
        for (unsigned which = 0; which < ENTRY_POINTS; which++) {
            if (sizes[s] < SMALL && which >= SMALL_ENTRY_POINTS)
                break;
            if ((which >= 12 && which <= 14 || which == 25) && sizes[s] < 5000)
                continue;
            long first = exhaust(which, sizes[s]);
            if (alone == NULL)
                continue;
            long second = exhaust(which, sizes[s]);
            if (first == 0 || second < first / 2)
                complain("after everything was freed there was less to be had", which, sizes[s],
                         second);
        }
    return NULL;
}

int main(int count, char **args)
{
    struct rlimit limit;
    unsigned long pages = 0;
    int threads = count > 1 ? atoi(args[1]) : 1;
    pthread_t ids[16];
    alarm(280);
    try { /* libstdc++ has what it needs for exceptions from now on */
        throw std::bad_alloc();
    } catch (const std::bad_alloc &) {
    }
    if (mallocx == NULL || je_malloc == NULL || tc_malloc == NULL)
        return 2;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        return 2;
    fclose(file);
    if (threads > 1) /* stacks, and 64 KiB of the loader's for each thread's exceptions */
        pages += (unsigned long)threads * 300;
    limit.rlim_cur = limit.rlim_max = pages * (rlim_t)getpagesize() + ((rlim_t)ROOM_MIB << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    if (mmap(NULL, (size_t)2 * ROOM_MIB << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED)
        return 77;
    if (threads == 1) {
        run(&threads);
    } else {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 512 << 10);
        for (int i = 0; i < threads; i++)
            if (pthread_create(&ids[i], &attributes, run, NULL) != 0)
                return 2;
        for (int i = 0; i < threads; i++)
            pthread_join(ids[i], NULL);
    }
    return failures == 0 ? 0 : 1;
}
