/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A small number in place of a pointer. */
#include "tests/misuse/misuse.h"

int main(void)
{
    free(malloc(64));
    wrong();
    free(opaque((void *)(uintptr_t)16));
    return survived();
}
