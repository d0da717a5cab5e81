/* SPDX-License-Identifier: MIT */
/* A library that breaks every rule of ../symbols: libc functions that lock or allocate, another
 * library, an internal name exported, thread-local data that is large and dynamic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread char heap_local[1000];

void *malloc(size_t size)
{
    printf("%zu %g\n", size, sin((double)size));
    memset(heap_local, (int)size, sizeof heap_local);
    return heap_local;
}

void *span_new(void)
{
    return malloc(1);
}
