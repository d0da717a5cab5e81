/* SPDX-License-Identifier: MIT */ /* static-too */
/* Every block is aligned to 16, or to what was asked, for every alignment up to 2^63 and many
 * sizes; an alignment that does not fit the address space is refused with ENOMEM; an alignment that
 * is no power of two is rounded up. Aligned blocks do not overlap, and free, realloc and usable
 * size take them. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

enum { LIVE = 24, ALWAYS_POSSIBLE_SHIFT = 26 };

static const size_t sizes[] = {0,    1,    8,    16,   17,    48,    100,    129,    1000,
                               1024, 4000, 4096, 4097, 16384, 40000, 130000, 600000, 3000000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void check_block(void *block, size_t alignment, size_t size)
{
    CHECK_AT(block != NULL, "alignment %zu size %zu", alignment, size);
    CHECK_AT(is_aligned(block, alignment), "alignment %zu size %zu got %p", alignment, size, block);
    if (block != NULL) {
        CHECK_AT(malloc_usable_size(block) >= size, "alignment %zu size %zu", alignment, size);
    }
}

static void *by_each_function(unsigned turn, size_t alignment, size_t size)
{
    void *block = NULL;
    switch (turn % 3) {
    case 0:
        return memalign(alignment, size);
    case 1:
        return aligned_alloc(alignment, size);
    default:
        if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size)) {
            return NULL;
        }
        return block;
    }
}

/* Many live at once: contents show whether one lies in another. */
static void possible_alignments(void)
{
    unsigned turn = 0;
    for (int shift = 0; shift <= ALWAYS_POSSIBLE_SHIFT; shift++) {
        size_t alignment = (size_t)1 << shift;
        size_t live_max = shift > 20 ? 2 : LIVE;
        for (size_t s = 0; s < SIZES; s++) {
            void *live[LIVE];
            for (size_t i = 0; i < live_max; i++) {
                live[i] = by_each_function(turn++, alignment, sizes[s]);
                check_block(live[i], alignment, sizes[s]);
                if (live[i] == NULL) {
                    return;
                }
                pattern_fill(live[i], sizes[s] < 300 ? sizes[s] : 300, turn);
            }
            for (size_t i = 0; i < live_max; i++) {
                size_t filled = sizes[s] < 300 ? sizes[s] : 300;
                CHECK_EQ(pattern_differs_at(live[i], filled, turn - live_max + i + 1), filled);
                free(live[i]);
            }
        }
    }
}

static void hardly_possible_alignments(void)
{
    for (int shift = ALWAYS_POSSIBLE_SHIFT + 1; shift < 64; shift++) {
        size_t alignment = (size_t)1 << shift;
        for (unsigned turn = 0; turn < 2; turn++) {
            errno = ERRNO_UNTOUCHED;
            void *block = by_each_function(turn, alignment, 100);
            if (block != NULL) {
                check_block(block, alignment, 100);
                memset(block, 1, 100);
                free(block);
            } else {
                CHECK_AT(errno == ENOMEM, "alignment 2^%d left errno %d", shift, errno);
            }
        }
        static char mark;
        void *block = &mark;
        int code = posix_memalign(&block, alignment, 100);
        CHECK_AT(code == 0 || (code == ENOMEM && block == &mark), "alignment 2^%d", shift);
        if (code == 0) {
            check_block(block, alignment, 100);
            free(block);
        }
    }
}

static void odd_alignments_round_up(void)
{
    for (size_t alignment = 0; alignment <= 5000; alignment += alignment < 70 ? 1 : 37) {
        size_t rounded = 1;
        while (rounded < alignment) {
            rounded *= 2;
        }
        void *one = memalign(opaque_size(alignment), 40);
        void *two = aligned_alloc(opaque_size(alignment), 4000);
        check_block(one, rounded, 40);
        check_block(two, rounded, 4000);
        free(one);
        free(two);
    }
}

static void plain_blocks_are_aligned_to_16(void)
{
    for (size_t size = 0; size < 3000; size++) {
        void *one = malloc(opaque_size(size));
        void *two = calloc(1, opaque_size(size));
        void *three = realloc(NULL, opaque_size(size));
        check_block(one, 16, size);
        check_block(two, 16, size);
        check_block(three, 16, size);
        three = realloc(three, size * 3 + 1);
        check_block(three, 16, size * 3 + 1);
        free(one);
        free(two);
        free(three);
    }
}

static void realloc_takes_aligned_blocks(void)
{
    for (int shift = 4; shift <= 21; shift++) {
        for (size_t s = 0; s < SIZES; s++) {
            size_t grown = sizes[s] * 2 + 33;
            unsigned char *block = memalign((size_t)1 << shift, sizes[s]);
            pattern_fill(block, sizes[s], s);
            block = realloc(block, grown);
            CHECK(block != NULL);
            CHECK_AT(pattern_differs_at(block, sizes[s], s) == sizes[s], "2^%d, %zu", shift,
                     sizes[s]);
            block = realloc(block, sizes[s] / 2 + 1);
            size_t kept = sizes[s] / 2;
            CHECK_AT(pattern_differs_at(block, kept, s) == kept, "2^%d, %zu", shift, sizes[s]);
            free(block);
        }
    }
}

int main(void)
{
    possible_alignments();
    hardly_possible_alignments();
    odd_alignments_round_up();
    plain_blocks_are_aligned_to_16();
    realloc_takes_aligned_blocks();
    return check_result();
}
