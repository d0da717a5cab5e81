/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=- debug=- */
/* A write that leaves the bytes next to the block alone. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(40));
    wrong();
    block[40 + 64] ^= 1;
    free(block);
    return survived();
}
