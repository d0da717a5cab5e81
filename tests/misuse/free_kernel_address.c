/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* An address of the kernel half. */
#include "tests/misuse/misuse.h"

int main(void)
{
    free(malloc(64));
    wrong();
    free(opaque((void *)(uintptr_t)0xFFFFFFFF80000000u));
    return survived();
}
