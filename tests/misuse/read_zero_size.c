/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=trap debug=overflow */
/* A block of no bytes has none. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(0));
    wrong();
    volatile char byte = block[0];
    (void)byte;
    return survived();
}
