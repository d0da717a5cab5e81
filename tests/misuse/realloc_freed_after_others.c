/* SPDX-License-Identifier: MIT */
/* expect=realloc_freed */
/* realloc of a block that was freed, and others after it. */
#include "tests/misuse/misuse.h"

int main(void)
{
    enum { OTHERS = 40 };
    void *others[OTHERS], *block = opaque(malloc(60));
    free(block);
    for (unsigned i = 0; i < OTHERS; i++)
        others[i] = opaque(malloc(60));
    for (unsigned i = 0; i < OTHERS; i++)
        free(others[i]);
    wrong();
    block = opaque(realloc(opaque(block), 120));
    return survived();
}
