/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A length with one element too many. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(10 * sizeof(long)));
    wrong();
    memset(block, 1, 11 * sizeof(long));
    return survived();
}
