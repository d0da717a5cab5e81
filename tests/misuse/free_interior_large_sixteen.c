/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* A large block, 16 bytes in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(1 << 20);
    wrong();
    free(at(block, 16));
    return survived();
}
