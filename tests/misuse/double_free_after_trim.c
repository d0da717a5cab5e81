/* SPDX-License-Identifier: MIT */
/* expect=double_free_or_not_ours */
/* The heap was trimmed between the two frees. */
#include "tests/misuse/misuse.h"

int main(void)
{
    enum { MANY = 20000 };
    static void *blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = malloc(500);
    }
    for (int i = 1; i < MANY; i++) {
        free(opaque(blocks[i]));
    }
    malloc_trim(0);
    wrong();
    free(opaque(blocks[MANY / 2]));
    return survived();
}
