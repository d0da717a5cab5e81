/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=- debug=- */
/* A copy that reads too much. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char copy[100];
    char *block = opaque(malloc(50));
    wrong();
    memcpy(copy, block, opaque(copy) ? 99 : 0);
    (void)opaque(copy);
    return survived();
}
