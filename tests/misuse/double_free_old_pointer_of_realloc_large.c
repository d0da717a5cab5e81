/* SPDX-License-Identifier: MIT */
/* expect=double_free_or_not_ours */
/* realloc moved a large block away; the old pointer is freed. */
#include "tests/misuse/misuse.h"

int main(void)
{
    void *old = malloc(1 << 20);
    void *fence = malloc(1 << 20);
    void *moved = realloc(opaque(old), (size_t)300 << 20);
    if (moved == old || fence == NULL) {
        return survived() + 2;
    }
    wrong();
    free(opaque(old));
    return survived();
}
