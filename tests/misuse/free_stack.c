/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A variable on the stack. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char variable[64];
    void *block = malloc(64);
    wrong();
    free(opaque(variable));
    free(block);
    return survived();
}
