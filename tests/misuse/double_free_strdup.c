/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A block that the C library allocated by malloc, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = strdup("a string long enough to matter");
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
