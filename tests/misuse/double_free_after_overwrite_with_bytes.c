/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The freed block is filled with a value before its second free: a mark inside it would be lost. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(128);
    free(opaque(block));
    memset(opaque(block), 0x41, 128);
    wrong();
    free(opaque(block));
    return survived();
}
