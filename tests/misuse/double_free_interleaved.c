/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The case that a check of the last free misses: a, b, then a again. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *a = malloc(64);
    void *b = malloc(64);
    free(opaque(a));
    free(opaque(b));
    wrong();
    free(opaque(a));
    return survived();
}
