/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The plain case: one small block, freed twice in a row. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
