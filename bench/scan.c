/* SPDX-License-Identifier: MIT */
/*
 * A scan for lost blocks in a program that goes on (docs/LEAKS.md): scan MIB BYTES SHAPE THREADS
 * SCANS. A heap of MIB MiB in blocks of BYTES; SHAPE is `table` (an array points to all of them) or
 * `list` (each points to another one, in random order, and nothing else points to any but the
 * first) or `lost` (such a list, and nothing points to the first). THREADS threads look at the
 * clock all the time and write to a block of the heap each 100 us; one more makes the scans. Prints
 * for each scan how long its copy of the process ran, how long it took, how long threads stood
 * still by its own account, and the longest time in which one of them did not come to look at the
 * clock, during the scan and before it (what the machine alone does); and how many blocks were
 * definitely and indirectly lost.
 *
 *     cc -O2 -I. bench/scan.c -o build/bench/scan -Lbuild -Wl,-rpath,$PWD/build -lmemoir -pthread
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "include/memoir/memoir.h"

static uintptr_t *table; /* blocks; a block's first word is the pointer of the list */
static uintptr_t hidden; /* 0, or what makes a pointer in the table none */
static size_t count, bytes;
static void **volatile first;
static volatile uint64_t longest_ns; /* of all threads, since it was last set to 0 */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Time that the copies of the process ran for: it does not depend on what else the machine does. */
static double copies_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static void *look(void *seed)
{
    uint64_t mine = (uint64_t)(uintptr_t)seed, before = now_ns(), written = before;
    for (;;) {
        uint64_t now = now_ns(), longest = longest_ns;
        while (now - before > longest &&
               !__atomic_compare_exchange_n(&longest_ns, &longest, now - before, 0, 0, 0))
            ;
        before = now;
        if (now - written > 100000 && table != NULL) {
            uintptr_t block = table[random_next(&mine) % count] ^ hidden;
            ((volatile char *)block)[bytes - 1]++;
            written = now;
        }
    }
    return NULL;
}

static void heap_make(size_t mib, const char *shape)
{
    uint64_t seed = 88172645463325252u;
    count = (mib << 20) / bytes;
    void ***blocks = malloc(count * sizeof *blocks);
    for (size_t i = 0; i < count; i++)
        blocks[i] = memset(malloc(bytes), 0, bytes);
    bool lost = strcmp(shape, "lost") == 0;
    if (lost || strcmp(shape, "list") == 0) {
        for (size_t i = count; i > 1; i--) {
            size_t other = random_next(&seed) % i;
            void **block = blocks[i - 1];
            blocks[i - 1] = blocks[other];
            blocks[other] = block;
        }
        for (size_t i = 1; i < count; i++)
            blocks[i - 1][0] = blocks[i];
        first = lost ? NULL : blocks[0];
        hidden = UINTPTR_MAX;
    }
    for (size_t i = 0; i < count; i++)
        blocks[i] = (void **)((uintptr_t)blocks[i] ^ hidden);
    table = (uintptr_t *)blocks;
}

int main(int args_count, char **args)
{
    if (args_count < 6)
        return 2;
    bytes = strtoul(args[2], NULL, 10);
    heap_make(strtoul(args[1], NULL, 10), args[3]);
    for (int i = 0; i < atoi(args[4]); i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, look, (void *)(uintptr_t)(12345 + i));
    }
    for (int i = 0; i < atoi(args[5]); i++) {
        struct memoir_leaks found;
        longest_ns = 0;
        usleep(500000);
        uint64_t alone_ns = longest_ns;
        longest_ns = 0;
        double cpu_before = copies_ms();
        if (!memoir_leaks(&found, sizeof found, NULL, NULL))
            return 1;
        printf("cpu_ms %.1f took_ms %.1f stood_ms %.2f gap_ms %.2f gap_before_ms %.2f "
               "copied_kib %lu own_kib %lu lost %lu and %lu\n",
               copies_ms() - cpu_before, found.took_us / 1e3, found.stood_us / 1e3,
               longest_ns / 1e6, alone_ns / 1e6, (unsigned long)found.copied_bytes >> 10,
               (unsigned long)found.own_bytes >> 10, (unsigned long)found.definite.blocks,
               (unsigned long)found.indirect.blocks);
    }
    fflush(stdout);
    _exit(0);
}
