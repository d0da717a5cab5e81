/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow hardened=damage debug=word_after */
/* One byte behind a block whose alignment leaves room. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(100));
    wrong();
    block[100] ^= 1; /* whatever is there */
    free(opaque(block));
    return survived();
}
