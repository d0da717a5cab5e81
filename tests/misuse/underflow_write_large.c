/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=underflow tight=underflow hardened=trap debug=underflow */
/* One byte before a large block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(1 << 20));
    wrong();
    block[-1] ^= 1; /* whatever is there */
    return survived();
}
