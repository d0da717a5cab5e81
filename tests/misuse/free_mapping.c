/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* Pages that the program mapped itself. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrong();
    free(opaque(page));
    return survived();
}
