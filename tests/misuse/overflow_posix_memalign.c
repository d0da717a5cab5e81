/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow_at_free tight=overflow_at_free hardened=damage */
/* verdicts: debug=word_after */
/* A write of one byte behind a block whose alignment leaves room there. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *place = NULL;
    if (posix_memalign(&place, 32, 48) != 0)
        return 3;
    char *block = opaque(place);
    wrong();
    block[48] = 1;
    free(block);
    return survived();
}
