/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=overflow_at_free full=overflow tight=overflow hardened=damage */
/* verdicts: debug=word_after */
/* A write some bytes behind the block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(300));
    wrong();
    block[308] = 1;
    free(block);
    return survived();
}
