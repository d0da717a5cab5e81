/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=- debug=- */
/* Blocks of the same size came after it. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    free(block);
    for (int i = 0; i < 100; i++) {
        (void)opaque(malloc(64));
    }
    wrong();
    volatile char byte = block[0];
    (void)byte;
    return survived();
}
