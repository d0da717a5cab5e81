/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* Ten thousand frees of the same class lie between the two of one block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    enum { MANY = 10000 };
    static void *blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = malloc(48);
    }
    for (int i = 0; i < MANY; i++) {
        free(opaque(blocks[i]));
    }
    wrong();
    free(opaque(blocks[MANY / 3]));
    return survived();
}
