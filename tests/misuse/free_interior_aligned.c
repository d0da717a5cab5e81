/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* An aligned block, 16 bytes in. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = memalign(4096, 5000);
    wrong();
    free(at(block, 16));
    return survived();
}
