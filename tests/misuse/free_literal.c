/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* A string literal. */
#include "tests/misuse/misuse.h"

int main(void)
{
    wrong();
    free(opaque((void *)(uintptr_t) "a string that lives in read-only memory"));
    return survived();
}
