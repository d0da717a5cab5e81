/* SPDX-License-Identifier: MIT */
/* linked-only static-too */
/*
 * Memory that the program maps is a root wherever it lies: also between the allocator's own tables,
 * at addresses that it may use later, and in the gap that it leaves where it finds another mapping.
 */
#include "include/memoir/memoir.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/api/check.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { BLOCKS = 10, SIZE = 300, WIPE = 16 << 10, PAGE = 64 << 10, STEPS = 64, GAPS = 200 };

static void *volatile ballast[STEPS + GAPS]; /* kept */

static void *map_at(uintptr_t address)
{
    void *at = mmap((void *)address, PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != MAP_FAILED && (uintptr_t)at != address) { /* a kernel before 4.17 */
        munmap(at, PAGE);
        return NULL;
    }
    return at == MAP_FAILED ? NULL : at;
}

static __attribute__((noinline)) void fill(void **at)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        at[i] = malloc(SIZE);
        CHECK(at[i] != NULL);
        memset(at[i], 0, SIZE);
    }
}

static __attribute__((noinline)) void wipe(void)
{
    char room[WIPE];
    memset(room, 0, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static struct memoir_leaks scan(void)
{
    struct memoir_leaks leaks;
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    return leaks;
}

/* Puts a mapping behind all that is mapped around a block; NULL: there is no room. */
static void **map_behind(uintptr_t end)
{
    enum { TRIES = 2000 };
    void *at = NULL;
    for (unsigned i = 1; i < TRIES && at == NULL; i++)
        at = map_at((end & ~((uintptr_t)PAGE - 1)) + (uintptr_t)i * PAGE);
    return at;
}

/* The heap finds a mapping in its way each time that it grows. Not written to: little is used. */
static unsigned gaps_make(void)
{
    const size_t size = (size_t)40 << 20;
    unsigned made = 0;
    for (unsigned i = 0; i < GAPS; i++) {
        char *block = ballast[STEPS + i] = malloc(size);
        void **at = block == NULL ? NULL : map_behind((uintptr_t)block + size);
        if (at == NULL)
            break; /* few addresses, as under some emulators */
        fill(at);
        made++;
    }
    return made;
}

int main(void)
{
    uintptr_t heap = (uintptr_t)(ballast[0] = malloc(SIZE)) & ~((uintptr_t)PAGE - 1);
    struct memoir_leaks before = scan();
    unsigned mapped = 0;
    void **last = NULL;
    CHECK(before.definite.blocks == 0);
    /* All over the addresses below the heap and above it, and where it is about to grow. */
    for (unsigned i = 1; i < STEPS; i++) {
        uintptr_t near = heap + ((uintptr_t)i << 20), part = heap / 16 * i;
        uintptr_t address = i % 2 == 0 ? near : part & ~((uintptr_t)PAGE - 1);
        void **at = map_at(address);
        if (at == NULL)
            continue;
        mapped++;
        fill(last = at);
        ballast[i] = malloc((size_t)3 << 20);
    }
    CHECK(mapped > STEPS / 8);
    CHECK(scan().definite.blocks == 0);
    CHECK(scan().reachable.blocks >= mapped * BLOCKS);
    mapped += gaps_make();
    CHECK(scan().definite.blocks == 0);
    CHECK(scan().reachable.blocks >= mapped * BLOCKS);
    memset((void *)last, 0, BLOCKS * sizeof *last); /* what they held is lost, and nothing else */
    CHECK(scan().definite.blocks == BLOCKS);
    return check_result();
}
