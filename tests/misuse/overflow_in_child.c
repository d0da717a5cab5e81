/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=- debug=- */
/* A forked child writes behind a block of its parent. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    wrong();
    if (fork() == 0) {
        block[64] ^= 1; /* whatever is there */
        _exit(0);
    }
    int status = 0;
    if (wait(&status) > 0 && WIFSIGNALED(status)) {
        abort();
    }
    return survived();
}
