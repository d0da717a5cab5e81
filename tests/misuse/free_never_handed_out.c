/* SPDX-License-Identifier: MIT */
/* An address of the heap's memory where no block ever was: not called a double free. The first
 * piece of that memory is 4 MiB long, and spans of hardened blocks lie within the first two. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(100);
    wrong();
    free(at((void *)((uintptr_t)block & ~(uintptr_t)4095), (size_t)3 << 20));
    return survived();
}
