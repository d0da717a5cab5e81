/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=overflow tight=overflow hardened=trap debug=overflow */
/* A read 1 bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(1 << 20));
    wrong();
    volatile char byte = block[1 << 20];
    (void)byte;
    return survived();
}
