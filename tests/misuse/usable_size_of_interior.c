/* SPDX-License-Identifier: MIT */
/* The size of what a pointer into a block points to. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    wrong();
    if (malloc_usable_size(at(block, 16)) == 1) {
        return 2;
    }
    return survived();
}
