/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* Much happens in other size classes between the two frees. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(112);
    free(opaque(block));
    for (int round = 0; round < 200; round++) {
        for (size_t size = 1000; size < 9000; size += 500) {
            free(malloc(size));
        }
    }
    wrong();
    free(opaque(block));
    return survived();
}
