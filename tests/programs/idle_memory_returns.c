/* SPDX-License-Identifier: MIT */
/* helper of idle_memory_returns.sh: frees 200 MB, then goes on with a little work for the seconds
 * of its argument, or with a very little if there is a third one: that many pairs of malloc and
 * free a second. Prints how many MiB are resident at the end beyond those of the start. */
#include <time.h>

#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { TOTAL_MIB = 200, BLOCKS_MAX = 1 << 19 };

static unsigned char *blocks[BLOCKS_MAX];

int main(int arguments_count, char **arguments)
{
    double seconds = arguments_count > 1 ? atof(arguments[1]) : 0;
    size_t size = arguments_count > 2 ? (size_t)atol(arguments[2]) : 1000;
    long pairs = arguments_count > 3 ? atol(arguments[3]) : 0;
    unsigned count = (unsigned)(TOTAL_MIB * MIB / size);
    alarm(100);
    CHECK(heap_works(1));
    size_t start = resident_bytes();
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        memset(blocks[i], 1, size);
    }
    for (unsigned i = 0; i < count; i++) {
        free(blocks[i]);
    }
    struct timespec begin, now, pause = {0, pairs == 0 ? 2000000 : 1000000000 / pairs};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        if (pairs == 0)
            heap_works(2);
        else
            free(opaque_ptr(malloc(100)));
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
             seconds);
    size_t end = resident_bytes();
    printf("%zu\n", end > start ? (end - start) / MIB : 0);
    return check_result();
}
