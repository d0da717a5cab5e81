/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* A block of several pages, one page in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(30000);
    wrong();
    free(at(block, 4096));
    return survived();
}
