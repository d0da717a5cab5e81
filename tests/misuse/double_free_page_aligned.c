/* SPDX-License-Identifier: MIT */
/* A block from valloc, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = valloc(100);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
