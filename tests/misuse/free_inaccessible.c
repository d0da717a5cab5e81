/* SPDX-License-Identifier: MIT */
/* expect=not_ours */
/* Pages that nobody may read: looking at them would crash. */
#include "tests/misuse/misuse.h"

int main(void)
{
    char *page = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrong();
    free(opaque(page + 4096 + 16));
    return survived();
}
