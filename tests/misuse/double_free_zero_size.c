/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* malloc(0) returns a block like any other; it is freed twice. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(0);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
