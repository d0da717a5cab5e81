/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* Another thread frees the inside of a block. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(64);
    wrong();
    in_thread(free_it, at(block, 16));
    return survived();
}
