/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=stopped tight=stopped hardened=trap debug=overflow */
/* A read a million bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(1 << 20));
    wrong();
    volatile char byte = block[2 << 20];
    (void)byte;
    return survived();
}
