/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A thread that owns nothing frees a block of several pages twice. */
#include "tests/misuse/misuse.h"

static void *free_twice(void *block)
{
    free(opaque(block));
    wrong();
    free(opaque(block));
    return NULL;
}

int main(void)
{
    void *block = malloc(20000);
    in_thread(free_twice, block);
    return survived();
}
