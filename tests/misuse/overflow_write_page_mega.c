/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=stopped tight=stopped hardened=- debug=overflow */
/* A write a million bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(4096));
    wrong();
    block[4096 + (1 << 20)] = 1;
    return survived();
}
