/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* The last page of the address space. */
#include "tests/misuse/misuse.h"

int main(void)
{
    free(malloc(64));
    wrong();
    free(opaque((void *)(uintptr_t)0x7FFFFFFFE000u));
    return survived();
}
