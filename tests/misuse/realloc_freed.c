/* SPDX-License-Identifier: MIT */
/* expect=realloc_freed */
/* realloc of a freed block, to a larger size. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    (void)realloc(opaque(block), 1000);
    return survived();
}
