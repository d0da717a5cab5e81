/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=stopped tight=stopped hardened=- debug=use_after_free */
/* An underflow of a freed block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(8192));
    free(block);
    wrong();
    block[-1] = 1;
    return survived();
}
