/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* An address that was mapped once and is no more. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *page = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 1 << 20);
    wrong();
    free(opaque(page + 65536));
    return survived();
}
