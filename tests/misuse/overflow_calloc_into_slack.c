/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow hardened=damage debug=word_after */
/* A write of one byte behind a block of calloc, into what its alignment leaves. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(calloc(10, 7));
    wrong();
    block[70] = 1;
    free(block);
    return survived();
}
