/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow hardened=damage debug=word_after */
/* One of a thousand blocks. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *blocks[1000];
    for (int i = 0; i < 1000; i++) {
        blocks[i] = opaque(malloc(40));
    }
    wrong();
    blocks[500][41] ^= 1; /* whatever is there */
    for (int i = 0; i < 1000; i++) {
        free(blocks[i]);
    }
    return survived();
}
