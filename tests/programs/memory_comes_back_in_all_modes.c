/* SPDX-License-Identifier: MIT */
/* helper of memory_comes_back_in_all_modes.sh: all memory is taken as blocks of one size and freed,
 * for several sizes, again and again. Each time there is nearly as much as the first time. The
 * blocks are linked through their first words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3, PERCENT_MIN = 70 };

static const size_t sizes[] = {200000, 5000, 600, 1 << 20, 30000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static long take_all(size_t size)
{
    void **last = NULL;
    long count = 0;
    for (void **block; (block = malloc(size)) != NULL; count++) {
        *block = last;
        last = block;
    }
    if (errno != ENOMEM)
        exit(3);
    while (last != NULL) {
        void **next = *last;
        free(last);
        last = next;
    }
    return count;
}

int main(void)
{
    long first[SIZES];
    int failures = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < SIZES; i++) {
            long count = take_all(sizes[i]);
            if (round == 0)
                first[i] = count;
            if (count > 0 && count * 100 >= first[i] * PERCENT_MIN)
                continue;
            printf("size %zu: %ld blocks, then %ld in round %d\n", sizes[i], first[i], count,
                   round);
            failures++;
        }
    return failures > 0;
}
