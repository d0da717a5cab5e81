/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=- debug=- */
/* A read of a freed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    free(block);
    wrong();
    volatile char byte = block[5];
    (void)byte;
    return survived();
}
