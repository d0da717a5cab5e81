/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* realloc(p, 0) has freed the block already. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    void *none = realloc(opaque(block), 0);
    wrong();
    free(opaque(block));
    free(none);
    return survived();
}
