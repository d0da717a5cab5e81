/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=overflow_at_free tight=overflow hardened=damage */
/* verdicts: debug=word_after */
/* A write of one byte behind a large block, into what its alignment leaves. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(33000));
    wrong();
    block[33000] = 1;
    free(block);
    return survived();
}
