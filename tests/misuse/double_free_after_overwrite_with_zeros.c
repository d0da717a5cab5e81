/* SPDX-License-Identifier: MIT */
/* verdicts: default=double_free full=use_after_free_sooner tight=use_after_free_sooner */
/* The freed block is filled with zeros before its second free: a mark inside it would be lost. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *block = malloc(128);
    free(opaque(block));
    memset(opaque(block), 0, 128);
    wrong();
    free(opaque(block));
    return survived();
}
