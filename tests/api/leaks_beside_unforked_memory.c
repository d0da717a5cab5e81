/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * Memory that forked children do not get holds pointers like any other, however many parts it has.
 * What the program has unmapped since holds none, nor does all that lies between the parts: the
 * blocks of a lost list, which point to each other, among it.
 */
#include "include/memoir/memoir.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/api/check.h"

enum { PARTS = 150, PART = 2 << 12, LIST = 50 };

static void **parts[PARTS];
static struct memoir_leaks before;

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[64 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

static uint64_t lost(void)
{
    struct memoir_leaks leaks = {0};
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    CHECK(!leaks.in_place);
    return leaks.definite.blocks + leaks.indirect.blocks - before.definite.blocks -
           before.indirect.blocks;
}

/* Every other page, so that the kernel joins none; the last one below all other memory. */
static __attribute__((noinline)) void parts_make(void)
{
    for (int i = 0; i < PARTS; i++) {
        void *low = (void *)(i == PARTS - 1 ? (uintptr_t)1 << 24 : 0);
        parts[i] = mmap(low, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(parts[i] != MAP_FAILED);
        CHECK(madvise(parts[i], PART / 2, i % 2 == 0 ? MADV_DONTFORK : MADV_WIPEONFORK) == 0);
        parts[i][i] = calloc(1, 100);
    }
}

static __attribute__((noinline)) void list_lose(void)
{
    void **first = NULL;
    for (int i = 0; i < LIST; i++) {
        void **next = calloc(1, 200);
        *next = first;
        first = next;
    }
    *(void **volatile *)&first = NULL;
}

int main(void)
{
    CHECK(memoir_leaks(&before, sizeof before, NULL, NULL));
    parts_make();
    CHECK_EQ(lost(), 0);
    list_lose();
    CHECK_EQ(lost(), LIST);
    for (int i = 0; i < PARTS; i++)
        CHECK(munmap(parts[i], PART) == 0);
    CHECK_EQ(lost(), LIST + PARTS);
    return check_result();
}
