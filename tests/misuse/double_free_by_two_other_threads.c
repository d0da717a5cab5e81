/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A thread frees a block of another one, then a third one does. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = opaque(malloc(80));
    in_thread(free_it, block);
    wrong();
    in_thread(free_it, block);
    return survived();
}
