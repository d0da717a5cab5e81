/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=underflow tight=underflow hardened=- debug=- */
/* A page before a small block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    wrong();
    volatile char byte = block[-4096];
    (void)byte;
    return survived();
}
