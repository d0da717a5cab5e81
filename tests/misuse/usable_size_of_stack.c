/* SPDX-License-Identifier: MIT */
/* The size of a variable on the stack. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char variable[64];
    wrong();
    if (malloc_usable_size(opaque(variable)) == 1) {
        return 2;
    }
    return survived();
}
