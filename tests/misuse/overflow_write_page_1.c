/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=overflow */
/* A write 1 bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(4096));
    wrong();
    block[4096] = 1;
    return survived();
}
