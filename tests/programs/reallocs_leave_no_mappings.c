/* SPDX-License-Identifier: MIT */
/* Large blocks that grow are moved by the kernel, and a piece of memory that was moved stays a
 * mapping of its own, of which a process may have some 65,000. Reallocs without end must not use
 * them up. */
#include <fcntl.h>

#include "tests/programs/work.h"

enum { SLOTS = 100, TURNS = 30000, MAPPINGS_MAX = 2500 };

static size_t mappings(void)
{
    char text[4096];
    size_t lines = 0;
    int file = open("/proc/self/maps", O_RDONLY);
    CHECK(file >= 0);
    for (ssize_t got; (got = read(file, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < got; i++) {
            lines += text[i] == '\n';
        }
    }
    close(file);
    return lines;
}

int main(void)
{
    static unsigned char *blocks[SLOTS];
    static size_t sizes[SLOTS];
    uint64_t random = 7;
    alarm(100);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned slot = (unsigned)(random >> 33) % SLOTS;
        size_t size = (100 << 10) + (random >> 40) % (2 << 20);
        unsigned char *block = turn % 8 == 7 ? NULL : realloc(blocks[slot], size);
        size_t kept = size < sizes[slot] ? size : sizes[slot];
        if (block == NULL) {
            free(blocks[slot]);
            kept = size = 0;
        }
        if (kept > 0) {
            CHECK_EQ(block[0], slot + 1);
            CHECK_EQ(block[kept - 1], kept == sizes[slot] ? slot + 1 : block[kept - 1]);
        }
        if (size > 0) {
            block[0] = block[size - 1] = (unsigned char)(slot + 1);
        }
        blocks[slot] = block;
        sizes[slot] = size;
        if (turn % 200 == 0) {
            malloc_trim(0);
        }
        if (turn % 3000 == 0) {
            size_t now = mappings();
            CHECK_AT(now < MAPPINGS_MAX, "%zu mappings after %u turns", now, turn);
        }
    }
    return check_result();
}
