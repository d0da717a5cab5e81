/* SPDX-License-Identifier: MIT */
/* realloc of a freed block to 0: a double free by another name. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    (void)realloc(opaque(block), 0);
    return survived();
}
