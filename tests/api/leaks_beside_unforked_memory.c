/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * Memory that forked children do not get holds pointers like any other, however many parts it has.
 * What the program has unmapped since holds none, nor does all that lies between the parts: the
 * blocks of a lost list, which point to each other, among it. A thread may make such memory, and
 * move its only pointers there, at any moment.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static void *pointers_move(void *stop)
{
    void **last = NULL;
    for (int i = 0; !__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE); i++) {
        void **next = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(next != MAP_FAILED);
        CHECK(madvise(next, PART, i % 2 == 0 ? MADV_DONTFORK : MADV_WIPEONFORK) == 0);
        for (int k = 0; k < LIST; k++)
            next[k] = last == NULL ? malloc(300) : last[k];
        if (last != NULL)
            munmap(last, PART);
        last = next;
        usleep(100);
    }
    for (int k = 0; last != NULL && k < LIST; k++)
        free(last[k]);
    return NULL;
}

static void moved_pointers_count(uint64_t others)
{
    pthread_t thread;
    int stop = 0;
    CHECK(pthread_create(&thread, NULL, pointers_move, &stop) == 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(lost(), others);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
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
    moved_pointers_count(LIST + PARTS);
    return check_result();
}
