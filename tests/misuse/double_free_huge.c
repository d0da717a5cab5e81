/* SPDX-License-Identifier: MIT */
/* expect=double_free_or_not_ours */
/* A block too large to be kept, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc((size_t)200 << 20);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
