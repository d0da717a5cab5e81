/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage debug=written */
/* A block that was freed long ago. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    free(block);
    for (int i = 0; i < 5000; i++) {
        free(opaque(malloc(64)));
    }
    wrong();
    block[0] = 1;
    return survived();
}
