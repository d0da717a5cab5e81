/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* All signals are blocked. */
#include "tests/misuse/misuse.h"

#include <signal.h>

int main(void)
{
    char *block = opaque(malloc(64));
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    wrong();
    block[64] ^= 1; /* whatever is there */
    return survived();
}
