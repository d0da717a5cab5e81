/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* Another thread frees the block, then its owner does. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    in_thread(free_it, block);
    wrong();
    free(opaque(block));
    return survived();
}
