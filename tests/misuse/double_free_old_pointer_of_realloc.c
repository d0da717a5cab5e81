/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* realloc moved the block; the old pointer is freed. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *old = malloc(64);
    void *moved = realloc(opaque(old), 50000);
    if (moved == old) {
        return 2;
    }
    wrong();
    free(opaque(old));
    return survived();
}
