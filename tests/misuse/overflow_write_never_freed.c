/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_exit tight=overflow hardened=damage debug=after_at_exit */
/* Found when the program ends. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(100));
    wrong();
    block[100] ^= 1; /* whatever is there */
    return survived();
}
