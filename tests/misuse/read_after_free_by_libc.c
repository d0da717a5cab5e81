/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=- debug=- */
/* memcmp reads it. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(malloc(64));
    free(block);
    wrong();
    volatile int result = memcmp(opaque(block), opaque("abc"), 3);
    (void)result;
    return survived();
}
