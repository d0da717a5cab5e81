/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A block from calloc, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = calloc(10, 30);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
