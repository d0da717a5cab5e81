/* SPDX-License-Identifier: MIT */
/* expect=double_free */
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
