/* SPDX-License-Identifier: MIT */ /* static-too */
/* realloc keeps min(old, new) bytes on every transition between size classes, large and huge blocks
 * (the ones a kernel remap moves), growing and shrinking, while neighbours stay as they were. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

static const size_t sizes[] = {1,       8,       15,      16,      17,      32,      33,
                               100,     128,     129,     500,     1023,    1024,    1025,
                               2048,    4095,    4097,    8192,    16000,   32768,   32769,
                               65535,   65537,   100000,  131072,  131073,  262144,  500000,
                               1048575, 1048577, 2097152, 4200000, 8388609, 17000000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Word i of a block filled with `seed`; words make the large blocks affordable. */
static uint64_t word(uint64_t seed, size_t i)
{
    return (i + 1) * 0x9E3779B97F4A7C15u ^ seed << 40;
}

static void words_fill(unsigned char *block, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size / 8; i++) {
        ((uint64_t *)(void *)block)[i] = word(seed, i);
    }
    pattern_fill(block + size / 8 * 8, size % 8, seed);
}

static int words_kept(const unsigned char *block, size_t size, size_t filled, uint64_t seed)
{
    size_t words = (size < filled ? size : filled) / 8;
    for (size_t i = 0; i < words; i++) {
        if (((const uint64_t *)(const void *)block)[i] != word(seed, i)) {
            return 0;
        }
    }
    size_t tail = size >= filled ? filled % 8 : 0;
    return pattern_differs_at(block + words * 8, tail, seed) == tail;
}

static void every_pair_of_sizes(void)
{
    for (size_t from = 0; from < SIZES; from++) {
        for (size_t to = 0; to < SIZES; to++) {
            unsigned char *before = malloc(64);
            unsigned char *block = malloc(sizes[from]);
            unsigned char *behind = malloc(sizes[from] < 4096 ? sizes[from] : 64);
            memset(before, 0x55, 64);
            memset(behind, 0x66, 1);
            words_fill(block, sizes[from], from);
            block = realloc(block, sizes[to]);
            CHECK(block != NULL && is_aligned(block, 16));
            CHECK_AT(malloc_usable_size(block) >= sizes[to], "%zu to %zu", sizes[from], sizes[to]);
            CHECK_AT(words_kept(block, sizes[to], sizes[from], from), "%zu to %zu", sizes[from],
                     sizes[to]);
            memset(block, 0x77, sizes[to]);
            CHECK_EQ(first_other_byte(before, 64, 0x55), 64);
            CHECK_EQ(behind[0], 0x66);
            free(before);
            free(block);
            free(behind);
        }
    }
}

/* One block through every small size, up and down again: most steps stay inside a class. */
static void step_by_step(void)
{
    size_t filled = 1;
    unsigned char *block = malloc(1);
    pattern_fill(block, 1, 9);
    for (size_t size = 2; size < 20000; size += size < 3000 ? 1 : 13) {
        block = realloc(block, size);
        CHECK_AT(pattern_differs_at(block, filled, 9) == filled, "growing to %zu", size);
        pattern_fill(block, size, 9);
        filled = size;
    }
    for (size_t size = filled; size > 0; size -= size > 3000 ? 13 : 1) {
        block = realloc(block, size);
        CHECK_AT(pattern_differs_at(block, size, 9) == size, "shrinking to %zu", size);
    }
    free(block);
}

/* Growth by a third up to a huge block, one mark a page, and back. */
static void one_block_to_huge_and_back(void)
{
    enum { MARK_STEP = 4096 };
    const size_t huge = (size_t)400 << 20;
    size_t size = MARK_STEP;
    size_t marked = 0;
    unsigned char *block = malloc(size);
    for (; size < huge; size += size / 3) {
        block = realloc(block, size);
        if (!CHECK(block != NULL)) {
            return;
        }
        for (size_t at = 0; at < marked; at += MARK_STEP) {
            CHECK_AT(*(size_t *)(void *)(block + at) == (at ^ 0xABCDu), "size %zu at %zu", size,
                     at);
        }
        for (; marked + MARK_STEP <= size; marked += MARK_STEP) {
            *(size_t *)(void *)(block + marked) = marked ^ 0xABCDu;
        }
    }
    for (; size > MARK_STEP; size /= 2) {
        block = realloc(block, size);
        CHECK(block != NULL);
        for (size_t at = 0; at + MARK_STEP <= size && at < marked; at += MARK_STEP) {
            CHECK_AT(*(size_t *)(void *)(block + at) == (at ^ 0xABCDu), "size %zu at %zu", size,
                     at);
        }
    }
    free(block);
}

int main(void)
{
    every_pair_of_sizes();
    step_by_step();
    one_block_to_huge_and_back();
    return check_result();
}
