/* SPDX-License-Identifier: MIT */
/* The size of a block that is free. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    if (malloc_usable_size(opaque(block)) == 1) {
        return 2;
    }
    return survived();
}
