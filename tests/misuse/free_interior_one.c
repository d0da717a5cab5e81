/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* A small block, 1 byte in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    wrong();
    free(at(block, 1));
    return survived();
}
