/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=survives tight=survives hardened=- debug=- */
/* Eight bytes before a small block: not found by a page behind it. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    wrong();
    volatile char byte = block[-8];
    (void)byte;
    return survived();
}
