/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=use_after_free tight=use_after_free hardened=trap */
/* verdicts: debug=use_after_free */
/* A read of a freed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(1 << 20));
    free(block);
    wrong();
    volatile char byte = block[1 << 19];
    (void)byte;
    return survived();
}
