/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* Two threads, neither the owner, free the block one after the other. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    in_thread(free_it, block);
    wrong();
    in_thread(free_it, block);
    return survived();
}
