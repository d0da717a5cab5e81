/* SPDX-License-Identifier: MIT */
/* Little address space, and far more asked for in all: aligned blocks of every alignment are found
 * again after their free, and a block that is longer than any free run is made from several. */
#include <sys/resource.h>

#include "tests/programs/work.h"

enum { ROOM_MIB = 256, TIMES = 500 };

static void aligned_blocks_are_found_again(void)
{
    for (size_t align = 4096; align <= (size_t)16 << 20; align *= 2)
        for (unsigned i = 0; i < TIMES; i++) {
            size_t size = i % 2 == 0 ? 100 : 100000 + i * 64;
            unsigned char *block = memalign(align, size);
            CHECK_AT(block != NULL, "align %zu, block %u", align, i);
            CHECK_AT((uintptr_t)block % align == 0, "align %zu, block %u", align, i);
            if (block == NULL)
                return;
            pattern_fill(block, 64, i);
            free(block);
        }
}

static void longer_blocks_take_the_place_of_shorter_ones(void)
{
    for (size_t mib = 20; mib <= 160; mib += 20) {
        unsigned char *block = malloc(mib << 20);
        CHECK_AT(block != NULL, "%zu MiB", mib);
        if (block == NULL)
            return;
        memset(block, 1, mib << 20);
        free(block);
    }
}

int main(void)
{
    alarm(100);
    struct rlimit room = {(rlim_t)ROOM_MIB << 20, (rlim_t)ROOM_MIB << 20};
    void *small = malloc(100); /* the library is up before the limit is */
    CHECK_EQ(setrlimit(RLIMIT_AS, &room), 0);
    aligned_blocks_are_found_again();
    longer_blocks_take_the_place_of_shorter_ones();
    free(small);
    return check_result();
}
