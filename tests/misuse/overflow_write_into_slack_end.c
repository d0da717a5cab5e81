/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow hardened=damage debug=word_after */
/* The last byte that the alignment leaves. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(97));
    wrong();
    block[111] ^= 1; /* whatever is there */
    free(opaque(block));
    return survived();
}
