/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A zeroed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(calloc(8, 8));
    wrong();
    block[64] ^= 1; /* whatever is there */
    return survived();
}
