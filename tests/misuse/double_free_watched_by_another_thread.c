/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* A watched block, freed by its thread and by another. */
#include "tests/misuse/misuse.h"

extern void memoir_set_rate(int64_t) __attribute__((weak));

int main(void)
{
    if (memoir_set_rate == NULL) {
        return 2;
    }
    memoir_set_rate(0);
    void *block = malloc(5000);
    in_thread(free_it, block);
    wrong();
    free(opaque(block));
    return survived();
}
