/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* An aligned block, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = memalign(256, 100);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
