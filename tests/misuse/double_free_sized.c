/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The sized form of free, called twice. */
#include "tests/misuse/misuse.h"

extern void free_sized(void *, size_t) __attribute__((weak));

int main(void)
{
    if (free_sized == NULL) {
        return 2;
    }
    void *block = malloc(64);
    free_sized(opaque(block), 64);
    wrong();
    free_sized(opaque(block), 64);
    return survived();
}
