/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* Half way into a block whose size is no power of two. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(1200);
    wrong();
    free(at(block, 608));
    return survived();
}
