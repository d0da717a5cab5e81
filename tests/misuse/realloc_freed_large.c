/* SPDX-License-Identifier: MIT */
/* expect=realloc_freed */
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
