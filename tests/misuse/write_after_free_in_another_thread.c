/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage debug=written */
/* One thread frees, another writes. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    in_thread(free_it, block);
    wrong();
    block[0] = 1;
    return survived();
}
