/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=stopped tight=stopped hardened=- debug=- */
/* A write a million bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(64));
    wrong();
    block[64 + (1 << 20)] = 1;
    return survived();
}
