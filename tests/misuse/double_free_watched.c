/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A block in a watched span (every block is, at rate 0), freed twice. */
#include "tests/misuse/misuse.h"

extern void memoir_set_rate(int64_t) __attribute__((weak));

int main(void)
{
    if (memoir_set_rate == NULL) {
        return 2;
    }
    memoir_set_rate(0);
    void *block = malloc(64);
    free(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
