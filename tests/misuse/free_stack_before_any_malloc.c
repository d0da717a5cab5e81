/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A variable on the stack; free is the first call that the library sees. */
#include "tests/misuse/misuse.h"

int main(void)
{
    _Alignas(64) char variable[64];
    wrong();
    free(opaque(variable));
    return survived();
}
