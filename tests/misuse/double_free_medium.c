/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A block of several pages, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(20000);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
