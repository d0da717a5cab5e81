/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=underflow_at_exit tight=underflow_at_exit hardened=- */
/* verdicts: debug=before_at_exit */
/* Found when the program ends. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    wrong();
    block[-8] ^= 1; /* whatever is there */
    return survived();
}
