/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=- debug=- */
/* A read 1 bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(64));
    wrong();
    volatile char byte = block[64];
    (void)byte;
    return survived();
}
