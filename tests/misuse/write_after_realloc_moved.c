/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage debug=written */
/* The old place of a block that grew. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    (void)opaque(realloc(opaque(block), 100000));
    wrong();
    block[0] = 1;
    return survived();
}
