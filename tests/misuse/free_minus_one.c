/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* All bits set. */
#include "tests/misuse/misuse.h"

int main(void)
{
    free(malloc(64));
    wrong();
    free(opaque((void *)(uintptr_t)UINTPTR_MAX));
    return survived();
}
