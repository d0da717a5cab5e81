/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The owner frees the block, then another thread does. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    in_thread(free_it, block);
    return survived();
}
