/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=overflow_at_exit full=overflow tight=overflow hardened=damage */
/* verdicts: debug=after_at_exit */
/* The smallest block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(1));
    wrong();
    block[1] ^= 1; /* whatever is there */
    return survived();
}
