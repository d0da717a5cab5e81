/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A handler of the program writes behind a block. */
#include "tests/misuse/misuse.h"

#include <signal.h>

static char *block;

static void handle(int number)
{
    (void)number;
    block[64] ^= 1; /* whatever is there */
}

int main(void)
{
    block = opaque(malloc(64));
    signal(SIGUSR1, handle);
    wrong();
    raise(SIGUSR1);
    return survived();
}
