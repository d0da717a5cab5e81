/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow hardened=damage debug=word_after */
/* The 0 of a string that is one byte too long. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(10));
    wrong();
    strcpy(block, opaque("0123456789"));
    free(opaque(block));
    return survived();
}
