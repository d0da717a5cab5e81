/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=- debug=- */
/* strlen of a block without a 0. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    memset(block, 1, 64);
    wrong();
    volatile size_t length = strlen(opaque(block));
    (void)length;
    return survived();
}
