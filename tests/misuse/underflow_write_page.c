/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=underflow tight=underflow hardened=- debug=underflow */
/* One byte before a block of whole pages. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(8192));
    wrong();
    block[-1] ^= 1; /* whatever is there */
    return survived();
}
