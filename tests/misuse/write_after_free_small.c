/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage debug=written */
/* A write of a freed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    free(block);
    wrong();
    block[5] = 1;
    return survived();
}
