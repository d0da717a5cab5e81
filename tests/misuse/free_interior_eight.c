/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* A small block, 8 bytes in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    wrong();
    free(at(block, 8));
    return survived();
}
