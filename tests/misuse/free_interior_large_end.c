/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* The last bytes of a large block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(3 << 20);
    wrong();
    free(at(block, (3 << 20) - 16));
    return survived();
}
