/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage */
/* verdicts: debug=use_after_free */
/* A write of a freed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(4096));
    free(block);
    wrong();
    block[100] = 1;
    return survived();
}
