/* SPDX-License-Identifier: MIT */
/* expect=double_free_or_not_ours */
/* A large block: another thread frees it, then its owner does. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(2 << 20);
    in_thread(free_it, block);
    wrong();
    free(opaque(block));
    return survived();
}
