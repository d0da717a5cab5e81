/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A thread writes behind a block of another. */
#include "tests/misuse/misuse.h"

static void *write_behind(void *block)
{
    ((char *)opaque(block))[64] = 1;
    return NULL;
}

int main(void)
{
    char *block = opaque(malloc(64));
    wrong();
    in_thread(write_behind, block);
    return survived();
}
