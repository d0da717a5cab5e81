/* SPDX-License-Identifier: MIT */
/* expect=double_free_or_not_ours */
/* A block with pages of its own, freed twice; it may be gone from the address space by then. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(1 << 20);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
