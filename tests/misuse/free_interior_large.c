/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* A large block, one page in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(1 << 20);
    wrong();
    free(at(block, 4096));
    return survived();
}
