/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=- debug=use_after_free */
/* A read of a freed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(4096));
    free(block);
    wrong();
    volatile char byte = block[100];
    (void)byte;
    return survived();
}
