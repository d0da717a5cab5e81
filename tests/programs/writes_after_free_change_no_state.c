/* SPDX-License-Identifier: MIT */
/* No byte written to user memory changes what the allocator knows: freed blocks are overwritten
 * with text, zeros and pointers to a target, and malloc still hands out each block once, never the
 * target, and its accounting still adds up. */
#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_stats

enum { BLOCKS = 3000 };

static char target[4096] __attribute__((aligned(4096)));
static unsigned char *blocks[BLOCKS];

static void overwrite(unsigned char *block, size_t size, int how)
{
    for (size_t at = 0; at + sizeof(void *) <= size; at += sizeof(void *)) {
        void *word = how == 0   ? (void *)(uintptr_t)0x4141414141414141u
                     : how == 1 ? NULL
                                : (void *)target;
        memcpy(block + at, &word, sizeof word);
    }
}

static int by_address(const void *one, const void *two)
{
    uintptr_t a = *(const uintptr_t *)one, b = *(const uintptr_t *)two;
    return (a > b) - (a < b);
}

static uint64_t live_blocks(void)
{
    struct memoir_stats stats = {.live_blocks = 0};
    return memoir_stats != NULL && memoir_stats(&stats, sizeof stats) ? stats.live_blocks : 0;
}

static void round_run(size_t size, int how)
{
    uint64_t before = live_blocks();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(size);
    }
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        overwrite(opaque_ptr(blocks[i]), size, how);
    }
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL && malloc_usable_size(blocks[i]) >= size);
        CHECK((char *)blocks[i] < target || (char *)blocks[i] >= target + sizeof target);
    }
    qsort(blocks, BLOCKS, sizeof blocks[0], by_address);
    for (int i = 1; i < BLOCKS; i++) {
        CHECK_AT(blocks[i] >= blocks[i - 1] + size, "blocks of %zu overlap", size);
    }
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    CHECK_EQ(live_blocks(), before);
}

int main(void)
{
    for (int how = 0; how < 3; how++) {
        for (size_t size = 16; size <= 2048; size *= 2) {
            round_run(size, how);
        }
    }
    CHECK(heap_works(1));
    return check_result();
}
