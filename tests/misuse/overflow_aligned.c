/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* A block aligned to 256 bytes. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *aligned = NULL;
    if (posix_memalign(&aligned, 256, 512) != 0) {
        return 2;
    }
    wrong();
    ((char *)opaque(aligned))[512] = 1;
    return survived();
}
