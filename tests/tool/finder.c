/* SPDX-License-Identifier: MIT */
/*
 * Things found by their bytes: each has the number it was given, whatever was added since, also
 * after the memory was given back; equal hashes are told apart; numbers may have gaps.
 */
#include "tool/profile/profile.h"

#include "tests/unit/unit.h"

enum { THINGS = 100000 };

/* The bytes of a number: short and long ones, some the beginning of others. */
static const void *bytes(const void *context, uint32_t number, size_t *size)
{
    static char text[2][64];
    static unsigned turn;
    char *at = text[turn++ % 2];
    unsigned more = *(const unsigned *)context;
    *size = (size_t)sprintf(at, "%.*s%u", (int)(number % 7 + more), "aaaaaaaa", number);
    return at;
}

static uint32_t find(struct finder *finder, uint32_t number)
{
    static const unsigned nothing = 0;
    uint32_t found;
    size_t size;
    const void *data = bytes(&nothing, number, &size);
    char copy[64];
    memcpy(copy, data, size);
    assert(finder_find(finder, &nothing, bytes, copy, size, &found));
    return found;
}

static void fill(struct finder *finder, uint32_t first, uint32_t step)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        assert(find(finder, first + i * step) == FINDER_NONE);
        finder_add(finder, first + i * step);
    }
    for (uint32_t i = 0; i < THINGS; i++)
        assert(find(finder, first + i * step) == first + i * step);
}

int main(void)
{
    struct finder finder = {0};
    fill(&finder, 0, 1);
    finder_rest(&finder);
    assert(find(&finder, 17) == 17 && find(&finder, THINGS) == FINDER_NONE);
    finder_add(&finder, THINGS);
    assert(find(&finder, THINGS) == THINGS && find(&finder, THINGS - 1) == THINGS - 1);
    finder_free(&finder);
    fill(&finder, 1, 1); /* the first has a meaning of its own */
    finder_free(&finder);
    finder.sparse = true;
    fill(&finder, 3, 1000);
    finder_free(&finder);
    assert(finder_start(&finder, THINGS));
    size_t size = finder.size;
    fill(&finder, 0, 1);
    assert(finder.size == size); /* it was made for so many */
    finder_free(&finder);
    return 0;
}
