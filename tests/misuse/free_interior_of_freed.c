/* SPDX-License-Identifier: MIT */
/* The inside of a block that is free already. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    free(at(block, 16));
    return survived();
}
