/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=survives tight=overflow hardened=- debug=- */
/* A read of what the alignment leaves: only without slack. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(100));
    wrong();
    volatile char byte = block[100];
    (void)byte;
    return survived();
}
