/* SPDX-License-Identifier: MIT */
/* An address of the heap's memory where no block ever was: not called a double free. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(100);
    wrong();
    free(at((void *)((uintptr_t)block & ~(uintptr_t)4095), (size_t)1 << 20));
    return survived();
}
