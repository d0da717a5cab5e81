/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives full=survives tight=overflow hardened=survives debug=survives */
/* _exit ends the program before the block is looked at. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(77));
    wrong();
    block[77] = 1;
    _exit(survived());
    return survived();
}
