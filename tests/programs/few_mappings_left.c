/* SPDX-License-Identifier: MIT */
/* The kernel allows a process some 65,000 mappings. With all but a few of them taken, and with all,
 * the heap still grows, shrinks and returns memory, or says ENOMEM in good order, and large blocks
 * come and go with their contents, although the kernel no longer moves them, or only a part of a
 * block that the program gave advice about. */
#include <sys/mman.h>

#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { LEFT = 40, BLOCKS = 4000, KEPT = 16 }; /* bytes that every block has */

static unsigned char *blocks[BLOCKS];
static char *area; /* whose pages are mappings of their own */

/* Takes mappings until the kernel refuses. False if it does not. */
static bool take_mappings(size_t max)
{
    size_t page = (size_t)getpagesize(), taken = 0;
    while (taken < max &&
           mprotect(area + taken * page, page, taken % 2 ? PROT_READ : PROT_NONE) == 0) {
        taken++;
    }
    return taken < max;
}

static unsigned use(void)
{
    unsigned refused = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        errno = ERRNO_UNTOUCHED;
        blocks[i] = i % 4 ? malloc(work_size(i % 120)) : memalign(4096, 100000 + i);
        if (blocks[i] == NULL) {
            CHECK_EQ(errno, ENOMEM);
            refused++;
            continue;
        }
        pattern_fill(blocks[i], KEPT, i);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) {
        if (blocks[i] != NULL) {
            CHECK_EQ(pattern_differs_at(blocks[i], KEPT, i), KEPT);
            unsigned char *larger = realloc(blocks[i], 3000000);
            blocks[i] = larger != NULL ? larger : blocks[i];
            CHECK_EQ(pattern_differs_at(blocks[i], KEPT, i), KEPT);
            free(blocks[i]);
        }
        if (i % 512 == 0) {
            malloc_trim(0);
        }
    }
    for (unsigned i = 1; i < BLOCKS; i += 2) {
        free(blocks[i]);
    }
    return refused;
}

/* A block whose pieces the kernel could move one after the other, until it has no mapping left. */
static void move_pieces(unsigned left, size_t piece)
{
    enum { SIZE = 4 << 20 };
    size_t page = (size_t)getpagesize();
    CHECK_EQ(mprotect(area, (2 * SIZE / piece + 8) * page, PROT_NONE), 0);
    unsigned char *block = memalign(page, SIZE), *behind = malloc(SIZE), *place = malloc(4 * SIZE);
    CHECK(block != NULL && behind != NULL && place != NULL);
    free(place);
    malloc_trim(0); /* only onto clean memory are blocks moved */
    for (size_t at = 0; at < SIZE; at += 2 * piece) {
        madvise(block + at, piece, MADV_DONTDUMP);
    }
    for (size_t at = 0; at < SIZE; at += page) {
        block[at] = (unsigned char)(1 + at / page % 200);
    }
    CHECK(take_mappings(SIZE_MAX));
    CHECK_EQ(mprotect(area, left * page, PROT_NONE), 0);
    unsigned char *larger = realloc(block, 2 * SIZE);
    block = larger != NULL ? larger : block;
    size_t wrong = 0;
    for (size_t at = 0; at < SIZE; at += page) {
        wrong += block[at] != 1 + at / page % 200;
    }
    CHECK_AT(wrong == 0, "%zu pages lost with %u mappings left", wrong, left);
    free(block);
    free(behind);
}

int main(void)
{
    char text[30] = "";
    int file = open("/proc/sys/vm/max_map_count", O_RDONLY);
    alarm(100);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) {
        return 77;
    }
    close(file);
    size_t max = strtoul(text, NULL, 10) + 100, page = (size_t)getpagesize();
    CHECK(heap_works(1));
    area =
        mmap(NULL, (max + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (max > 1000000 || area == MAP_FAILED || !take_mappings(max)) {
        check_say("mappings are not limited here\n");
        return 77;
    }
    for (int round = 0; round < 6; round++) {
        if (round % 2 == 0) {
            CHECK_EQ(mprotect(area, LEFT * page, PROT_NONE), 0);
        } else {
            CHECK(take_mappings(max));
        }
        unsigned refused = use();
        CHECK_AT(refused < BLOCKS / 20, "%u of %d refused", refused, BLOCKS);
        CHECK(heap_works(2));
    }
    for (unsigned left = 2; left < 30; left += 3) {
        move_pieces(left, 256 << 10);
    }
    for (unsigned left = 2; left < 14; left++) {
        move_pieces(left, 1 << 20);
    }
    return check_result();
}
