/* SPDX-License-Identifier: MIT */
/* verdicts: default=- sampled=- full=overflow tight=overflow hardened=trap debug=overflow */
/* A block aligned to 64 KiB. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *block = opaque(aligned_alloc(65536, 8192));
    wrong();
    block[8192] = 1;
    return survived();
}
