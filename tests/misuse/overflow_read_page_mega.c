/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=stopped tight=stopped hardened=- debug=overflow */
/* A read a million bytes behind a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = (char *)opaque(malloc(4096));
    wrong();
    volatile char byte = block[4096 + (1 << 20)];
    (void)byte;
    return survived();
}
