/* SPDX-License-Identifier: MIT */
/* helper of lost_blocks_of_a_sampled_program.sh: loses blocks of one size at two places, 3 to 1,
 * and a few large ones, says so, and waits for a line. */
#include <stdio.h>
#include <stdlib.h>

enum { OFTEN = 3000, SELDOM = 1000, LARGE = 5 };

static void *volatile last;

__attribute__((noinline)) static void often(void)
{
    last = malloc(208);
}

__attribute__((noinline)) static void seldom(void)
{
    last = malloc(208);
}

__attribute__((noinline)) static void large(void)
{
    last = malloc(1 << 20);
}

int main(void)
{
    for (int i = 0; i < OFTEN; i++) {
        often();
        if (i % (OFTEN / SELDOM) == 0) {
            seldom();
        }
    }
    for (int i = 0; i < LARGE; i++) {
        large();
    }
    last = NULL;
    puts("ready");
    fflush(stdout);
    return getchar() == EOF;
}
