/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A pointer that no machine has: overwritten with text. */
#include "tests/misuse/misuse.h"

int main(void)
{
    free(malloc(64));
    wrong();
    free(opaque((void *)(uintptr_t)0x4141414141414140u));
    return survived();
}
