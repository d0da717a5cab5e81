/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* A huge block, 64 MiB in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc((size_t)200 << 20);
    wrong();
    free(at(block, (size_t)64 << 20));
    return survived();
}
