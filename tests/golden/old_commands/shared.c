/* SPDX-License-Identifier: MIT */
/* A library of plain.c. */
#include <stdlib.h>

static void *volatile held;

void *shared_keep(size_t bytes, int count)
{
    for (int i = 0; i < count; i++)
        held = malloc(bytes);
    return held;
}
