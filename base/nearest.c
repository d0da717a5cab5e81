/* SPDX-License-Identifier: MIT */
/*
 * The edit distance with swaps of neighbours (optimal string alignment), by the usual table of
 * which only three rows are kept: a swap looks two rows back.
 */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

static size_t min(size_t a, size_t b);

size_t nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    uint8_t older[NEAREST_LENGTH_MAX + 1] = {0};
    uint8_t above[NEAREST_LENGTH_MAX + 1];
    uint8_t row[NEAREST_LENGTH_MAX + 1];

    a_length = min(a_length, NEAREST_LENGTH_MAX);
    b_length = min(b_length, NEAREST_LENGTH_MAX);
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (uint8_t)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = min(best, above[j] + 1u);
            best = min(best, row[j - 1] + 1u);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = min(best, older[j - 2] + 1u);
            row[j] = (uint8_t)best;
        }
        memcpy(older, above, sizeof older);
        memcpy(above, row, sizeof above);
    }
    return above[b_length];
}

size_t nearest_max(size_t length)
{
    return length > 7 ? 2 : length > 2 ? 1 : 0;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}
