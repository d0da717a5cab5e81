/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=- debug=overflow */
/* A read 1 bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(4096));
    wrong();
    volatile char byte = block[4096];
    (void)byte;
    return survived();
}
