/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=underflow_at_free tight=underflow_at_free hardened=- */
/* verdicts: debug=word_before */
/* A write before a block of more than a page. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(5000));
    wrong();
    *(long *)(void *)(block - sizeof(long)) = 3;
    free(block);
    return survived();
}
