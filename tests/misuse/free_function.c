/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* The address of a function. */
#include "tests/misuse/misuse.h"

int main(void)
{
    wrong();
    free(opaque((void *)(uintptr_t)main));
    return survived();
}
