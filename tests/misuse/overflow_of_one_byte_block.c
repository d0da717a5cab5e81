/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow */
/* The smallest block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(1));
    wrong();
    block[1] = 1;
    return survived();
}
