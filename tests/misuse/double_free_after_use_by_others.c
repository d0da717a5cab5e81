/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A block is freed again while its memory may be another one's: that one's free is the second. */
#include "tests/misuse/misuse.h"

int main(void)
{
    enum { OTHERS = 500 };
    void *others[OTHERS], *block = opaque(malloc(48));
    free(block);
    for (unsigned i = 0; i < OTHERS; i++)
        others[i] = opaque(malloc(48));
    wrong();
    free(opaque(block));
    for (unsigned i = 0; i < OTHERS; i++)
        free(others[i]);
    return survived();
}
