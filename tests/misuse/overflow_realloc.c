/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A block that grew. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(16));
    block = opaque(realloc(block, 128));
    wrong();
    block[128] ^= 1; /* whatever is there */
    return survived();
}
