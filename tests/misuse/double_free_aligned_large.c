/* SPDX-License-Identifier: MIT */
/* expect=double_free_or_not_ours */
/* A large block with a large alignment, freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = memalign(1 << 21, 5000000);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
