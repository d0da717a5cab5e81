/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* All blocks around are live: the first free of a full span, twice, with one other between. */
#include "tests/misuse/misuse.h"

int main(void)
{
    enum { MANY = 30000 };
    static void *blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = malloc(32);
    }
    free(opaque(blocks[100]));
    free(opaque(blocks[9000]));
    wrong();
    free(opaque(blocks[100]));
    return survived();
}
