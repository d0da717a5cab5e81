/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage debug=written */
/* A write of a freed block after 10,000 frees of others. */
#include "tests/misuse/misuse.h"

static void others(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(opaque(malloc(48)));
}

int main(void)
{
    char *block = opaque(malloc(48));
    free(block);
    others(10000);
    wrong();
    block[5] = 1;
    return survived();
}
