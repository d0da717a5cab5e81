/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A function that runs at the end frees a block again. */
#include "tests/misuse/misuse.h"

static void *block;

static void at_end(void)
{
    free(opaque(block));
    survived();
}

int main(void)
{
    block = opaque(malloc(80));
    atexit(at_end);
    free(block);
    wrong();
    exit(0);
    return survived();
}
