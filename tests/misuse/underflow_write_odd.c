/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=underflow_at_free tight=underflow_at_free hardened=- */
/* verdicts: debug=word_before */
/* One byte before a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(100));
    wrong();
    block[-1] ^= 1; /* whatever is there */
    free(opaque(block));
    return survived();
}
