/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=overflow tight=overflow hardened=trap debug=overflow */
/* A write 32 bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(1 << 20));
    wrong();
    block[(1 << 20) + 31] = 1;
    return survived();
}
