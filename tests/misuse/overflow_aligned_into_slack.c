/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow_at_free hardened=damage */
/* verdicts: debug=word_after */
/* A block aligned to 4 KiB that is short. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(aligned_alloc(4096, 100));
    wrong();
    block[100] ^= 1; /* whatever is there */
    free(opaque(block));
    return survived();
}
