/* SPDX-License-Identifier: MIT */
/* expect=realloc_not_ours */
/* realloc of a variable on the stack. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char variable[64];
    wrong();
    (void)realloc(opaque(variable), 1000);
    return survived();
}
