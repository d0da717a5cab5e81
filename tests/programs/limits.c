/* SPDX-License-Identifier: MIT */
/* helper of limits_are_respected.sh: allocates blocks of many sizes up to the MiB of its argument,
 * writes and verifies them, and says "had all", or "refused" when malloc returned NULL with ENOMEM
 * in good order. */
#include "tests/programs/work.h"

enum { BLOCKS_MAX = 200000 };

static unsigned char *blocks[BLOCKS_MAX];
static size_t sizes[BLOCKS_MAX];

/* A stack that wants to grow when there is nothing left ends the process: it grows now. */
static void grow_stack(void)
{
    volatile char room[256 * 1024];
    for (size_t at = 0; at < sizeof room; at += 1024) {
        room[at] = 1;
    }
}

int main(int arguments_count, char **arguments)
{
    size_t wanted = (arguments_count > 1 ? (size_t)atol(arguments[1]) : 1) << 20, got = 0;
    bool touch_all = arguments_count > 2 && strcmp(arguments[2], "touch") == 0, refused = false;
    unsigned count = 0;
    alarm(60);
    grow_stack();
    for (; got < wanted && count < BLOCKS_MAX; count++) {
        sizes[count] = wanted >> 33         ? 64u << 20
                       : count % 200 == 199 ? 3u << 20
                                            : work_size(count % 120);
        errno = ERRNO_UNTOUCHED;
        blocks[count] = malloc(sizes[count]);
        if (blocks[count] == NULL) {
            CHECK_EQ(errno, ENOMEM);
            refused = true;
            break;
        }
        if (touch_all) {
            memset(blocks[count], 1, sizes[count]);
        }
        pattern_fill(blocks[count], sizes[count] < 100 ? sizes[count] : 100, count);
        got += sizes[count];
    }
    for (unsigned i = 0; i < count; i++) {
        size_t kept = sizes[i] < 100 ? sizes[i] : 100;
        CHECK_EQ(pattern_differs_at(blocks[i], kept, i), kept);
        free(blocks[i]);
    }
    /* What was freed is there again. */
    CHECK(heap_verdict(3) != BROKEN);
    CHECK(count < 5000 || heap_works(4));
    if (check_result() == 0) {
        printf("%s\n", refused ? "refused" : "had all");
    }
    return check_result();
}
