/* SPDX-License-Identifier: MIT */ /* static-too */
/* malloc_usable_size is at least the size asked for, and every byte of it is the caller's: sizes 0
 * to 200,000 one by one, with a window of live neighbours whose contents are verified. Where the
 * usable size steps (a class border) the whole block is written; elsewhere its first and last
 * bytes. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

enum { WINDOW = 48, SIZE_LAST = 200000, EDGE = 64 };

struct live {
    unsigned char *block;
    size_t usable;
    size_t seed;
    int whole;
};

static struct live window[WINDOW];

static void edges_fill(struct live *live)
{
    size_t edge = live->usable < EDGE ? live->usable : EDGE;
    pattern_fill(live->block, edge, live->seed);
    pattern_fill(live->block + live->usable - edge, edge, live->seed + 1);
}

static void retire(struct live *live)
{
    if (live->block == NULL) {
        return;
    }
    size_t edge = live->usable < EDGE ? live->usable : EDGE;
    if (live->whole) {
        CHECK_AT(pattern_differs_at(live->block, live->usable, live->seed) == live->usable,
                 "size %zu usable %zu", live->seed, live->usable);
    } else {
        CHECK_AT(pattern_differs_at(live->block + live->usable - edge, edge, live->seed + 1) ==
                     edge,
                 "size %zu usable %zu", live->seed, live->usable);
    }
    CHECK_EQ(malloc_usable_size(live->block), live->usable);
    free(live->block);
    live->block = NULL;
}

static void *allocate(size_t size)
{
    switch (size % 3) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(1, size);
    default:
        return realloc(NULL, size);
    }
}

static void every_size(void)
{
    size_t usable_before = 0;
    for (size_t size = 0; size <= SIZE_LAST; size++) {
        struct live *live = &window[size % WINDOW];
        retire(live);
        live->block = allocate(size);
        if (!CHECK(live->block != NULL)) {
            return;
        }
        live->seed = size;
        live->usable = malloc_usable_size(live->block);
        live->whole = size < 2048 || live->usable != usable_before;
        usable_before = live->usable;
        CHECK_AT(live->usable >= size, "size %zu usable %zu", size, live->usable);
        CHECK_AT(is_aligned(live->block, 16), "size %zu at %p", size, (void *)live->block);
        if (live->whole) {
            pattern_fill(live->block, live->usable, live->seed);
        } else {
            edges_fill(live);
        }
    }
    for (int i = 0; i < WINDOW; i++) {
        retire(&window[i]);
    }
}

static void large_sizes(void)
{
    for (size_t size = SIZE_LAST; size < (size_t)300 << 20; size += size / 3 + 4095) {
        struct live live = {.block = malloc(size), .seed = size};
        if (!CHECK(live.block != NULL)) {
            return;
        }
        live.usable = malloc_usable_size(live.block);
        CHECK_AT(live.usable >= size, "size %zu usable %zu", size, live.usable);
        edges_fill(&live);
        retire(&live);
    }
}

int main(void)
{
    CHECK_EQ(malloc_usable_size(NULL), 0);
    every_size();
    large_sizes();
    return check_result();
}
