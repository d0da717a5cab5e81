/* SPDX-License-Identifier: MIT */
/* A large block that was freed without being touched has no pages, and calloc of the same memory
 * brings none in: it reads as zero as it is. Where some pages were written to, those are cleared,
 * and the others stay out. */
#include <sys/mman.h>

#include "tests/programs/work.h"

enum { BYTES = 16 << 20, FEW = 64, ROUNDS = 60 };

static size_t page;

/* Pages of the block in memory. */
static size_t resident(void *block, size_t size)
{
    static unsigned char in[BYTES / 4096 + 2];
    uintptr_t start = ((uintptr_t)block + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(page - 1);
    size_t count = 0;
    CHECK_EQ(mincore((void *)start, end - start, in), 0);
    for (size_t i = 0; i < (end - start) / page; i++) {
        count += in[i] & 1;
    }
    return count;
}

static void untouched(void)
{
    for (int i = 0; i < 5; i++) {
        free(opaque_ptr(malloc(BYTES)));
        unsigned char *block = calloc(1, BYTES);
        CHECK_AT(resident(block, BYTES) < FEW, "%zu pages", resident(block, BYTES));
        free(block);
    }
}

/* Some pages here and there; and from time to time all of them, as a block of another size. */
static void some_touched(void)
{
    unsigned turn = 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = (BYTES >> round % 7) - (size_t)round * 1000;
        unsigned char *block = malloc(size);
        if (round % 10 == 9) {
            memset(block, 0xee, size);
        }
        for (int i = 0; i < round % 50; i++) {
            turn = turn * 1103515245u + 12345u;
            size_t at = turn % size, length = (turn >> 8) % (turn % 5 == 0 ? 200000 : 300);
            length = length < size - at ? length : size - at;
            memset(block + at, 0xaa, length);
        }
        free(block);
        block = calloc(1, size);
        CHECK_AT(first_other_byte(block, size, 0) == size, "round %d, size %zu", round, size);
        free(block);
    }
}

int main(void)
{
    alarm(100);
    page = (size_t)getpagesize();
    untouched();
    some_touched();
    return check_result();
}
