/* SPDX-License-Identifier: MIT */
/* expect=interior */
/* The inside of a watched block. */
#include "tests/misuse/misuse.h"

extern void memoir_set_rate(int64_t) __attribute__((weak));

int main(void)
{
    if (memoir_set_rate == NULL) {
        return 2;
    }
    memoir_set_rate(0);
    void *block = malloc(200);
    wrong();
    free(at(block, 16));
    return survived();
}
