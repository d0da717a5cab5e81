/* SPDX-License-Identifier: MIT */
/* verdicts: default=interior full=beside tight=beside debug=not_ours hardened=interior */
/* Not the block: the first byte behind it. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(1));
    wrong();
    free(opaque(block + 1));
    return survived();
}
