/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A thread-local variable. */
#include "tests/misuse/misuse.h"

static __thread _Alignas(16) char variable[64];

int main(void)
{
    wrong();
    free(opaque(variable));
    return survived();
}
