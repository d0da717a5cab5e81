/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=trap debug=overflow */
/* A write to a block of calloc that has no byte. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(calloc(0, 8));
    wrong();
    block[0] = 1;
    return survived();
}
