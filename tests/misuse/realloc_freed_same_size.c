/* SPDX-License-Identifier: MIT */
/* realloc of a freed block to its own size, which needs no new block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    void *moved = realloc(opaque(block), 64);
    free(moved);
    return survived();
}
