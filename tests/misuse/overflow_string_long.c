/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A string that is much too long. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(10));
    wrong();
    strcpy(block, opaque("a string of more than thirty-two bytes"));
    return survived();
}
