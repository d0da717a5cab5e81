/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=before_freed tight=before_freed debug=- hardened=- */
/* Read before a freed block, on its page. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(48));
    free(block);
    wrong();
    (void)((volatile char *)opaque(block))[-10];
    return survived();
}
