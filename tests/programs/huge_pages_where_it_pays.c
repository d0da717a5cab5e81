/* SPDX-License-Identifier: MIT */
/* helper of huge_pages_where_it_pays.sh: makes a heap of a kind, and prints how many MiB of the
 * process are advised to be huge pages and how many are resident. */
#include <malloc.h>

#include "tests/programs/mappings.h"
#include "tests/programs/memory.h"

enum { COUNT_MAX = 400000, GROUP = 256 };

static char *blocks[COUNT_MAX];

/* `touched` bytes of each block are written. */
static unsigned fill(size_t total, size_t size, size_t touched)
{
    unsigned count = (unsigned)(total / size);
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        memset(blocks[i], 1, touched);
    }
    return count;
}

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "";
    if (mappings_with(0, UINTPTR_MAX, "hg") == SIZE_MAX)
        return 77;
    if (strcmp(kind, "small") == 0)
        fill(30 * MIB, 1000, 1000);
    else if (strcmp(kind, "sparse") == 0)
        fill(300 * MIB, 100000, 1);
    else if (strcmp(kind, "beginnings") == 0)
        fill(300 * MIB, 32000, 100);
    else if (strcmp(kind, "giant") == 0)
        blocks[fill(40 * MIB, 1000, 1000)] = malloc(400 * MIB);
    else
        count = (int)fill(300 * MIB, 1000, 1000);
    if (strcmp(kind, "half") == 0) { /* every other 256 KB */
        for (int i = 0; i < count; i++)
            if (i / GROUP % 2 == 0)
                free(blocks[i]);
        malloc_trim(0);
    }
    printf("%zu %zu\n", mappings_with(0, UINTPTR_MAX, "hg") / MIB, resident_bytes_exactly() / MIB);
    return 0;
}
