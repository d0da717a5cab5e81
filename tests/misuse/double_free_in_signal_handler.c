/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A handler of the program frees a block that is free. */
#include "tests/misuse/misuse.h"

#include <signal.h>

static void *block;

static void handle(int number)
{
    (void)number;
    free(opaque(block));
}

int main(void)
{
    block = opaque(malloc(80));
    signal(SIGUSR1, handle);
    free(block);
    wrong();
    raise(SIGUSR1);
    return survived();
}
