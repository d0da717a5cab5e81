/* SPDX-License-Identifier: MIT */
/* expect=realloc_freed */
/* realloc of a freed block to its own size, which needs no new block. The size is the smallest, so
 * that a size guessed too small would do. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(16);
    free(opaque(block));
    wrong();
    (void)realloc(opaque(block), 16);
    return survived();
}
