/* SPDX-License-Identifier: MIT */
/* realloc of a pointer into a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    wrong();
    (void)realloc(at(block, 16), 1000);
    return survived();
}
