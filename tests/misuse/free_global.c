/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A global variable. */
#include "tests/misuse/misuse.h"

static _Alignas(64) char variable[64] = "x";

int main(void)
{
    wrong();
    free(opaque(variable));
    return survived();
}
