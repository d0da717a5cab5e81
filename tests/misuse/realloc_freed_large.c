/* SPDX-License-Identifier: MIT */
/* realloc of a freed large block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(1 << 20);
    free(opaque(block));
    wrong();
    (void)realloc(opaque(block), 2 << 20);
    return survived();
}
