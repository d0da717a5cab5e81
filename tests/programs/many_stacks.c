/* SPDX-License-Identifier: MIT */
/* guarded_programs_have_many_stacks.sh runs it: nearly each of its blocks has a stack of its own,
 * and the last one, which `last_taker` allocates, is written to behind its end. */
#include <stdlib.h>

enum { DEPTH = 40, BLOCKS = 120000 };

static unsigned state = 1;

static unsigned next(void)
{
    state = state * 1103515245u + 12345u;
    return state >> 30; /* the lower ones repeat soon */
}

static void left(unsigned depth);
static void right(unsigned depth);

static inline void turn(unsigned depth)
{
    if (depth == 0)
        free(malloc(40));
    else if (next() % 2 == 0)
        left(depth - 1);
    else
        right(depth - 1);
}

__attribute__((noinline)) static void left(unsigned depth)
{
    turn(depth);
    __asm__ volatile("# left"); /* no jump instead of the call */
}

__attribute__((noinline)) static void right(unsigned depth)
{
    turn(depth);
    __asm__ volatile("# right");
}

__attribute__((noinline)) static char *last_taker(void)
{
    char *block = malloc(40);
    __asm__ volatile("" : "+r"(block));
    return block;
}

int main(void)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        turn(DEPTH);
    char *block = last_taker();
    block[40] = 1;
    __asm__ volatile("" : "+r"(block) : : "memory");
    free(block);
    return 0;
}
