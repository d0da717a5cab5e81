/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* What realloc took away. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(5000));
    block = opaque(realloc(block, 48));
    wrong();
    block[48] ^= 1; /* whatever is there */
    return survived();
}
