/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A block of a large size class, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(32768);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
