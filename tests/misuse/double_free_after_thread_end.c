/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The thread that allocated the block has ended; the block is freed twice by main. */
#include "tests/misuse/misuse.h"

static void *allocate(void *block)
{
    *(void **)block = malloc(64);
    return NULL;
}

int main(void)
{
    void *block = NULL;
    in_thread(allocate, &block);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
