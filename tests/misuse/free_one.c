/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* The number 1. */
#include "tests/misuse/misuse.h"

int main(void)
{
    free(malloc(64));
    wrong();
    free(opaque((void *)(uintptr_t)1));
    return survived();
}
