/* SPDX-License-Identifier: MIT */
/* expect=realloc_not_ours */
/* realloc of a pointer that no machine has. */
#include "tests/misuse/misuse.h"

int main(void)
{
    wrong();
    (void)realloc(opaque((void *)(uintptr_t)0x4141414141414140u), 1000);
    return survived();
}
