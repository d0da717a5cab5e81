/* SPDX-License-Identifier: MIT */
/* expect=realloc_freed */
/* realloc of a freed large block to more than any machine has: it is looked at before the new one
 * is asked for, so the end is not a NULL. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(1 << 20);
    free(opaque(block));
    wrong();
    (void)realloc(opaque(block), (size_t)1 << 60);
    return survived();
}
