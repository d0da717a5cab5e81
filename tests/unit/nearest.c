/* SPDX-License-Identifier: MIT */
/*
 * The distance of two words: known values, its laws as a metric, and words longer than it looks at.
 */
#include "base/nearest.h"

#include <assert.h>
#include <string.h>

static size_t distance(const char *a, const char *b)
{
    size_t there = nearest_distance(a, strlen(a), b, strlen(b));
    assert(there == nearest_distance(b, strlen(b), a, strlen(a)));
    return there;
}

int main(void)
{
    assert(distance("", "") == 0);
    assert(distance("heap", "heap") == 0);
    assert(distance("", "heap") == 4);
    assert(distance("heap", "hep") == 1);
    assert(distance("heap", "heapp") == 1);
    assert(distance("heap", "heat") == 1);
    assert(distance("heap", "haep") == 1);
    assert(distance("kitten", "sitting") == 3);
    assert(distance("heap", "thp") == 3);

    assert(nearest_max(0) == 0 && nearest_max(2) == 0);
    assert(nearest_max(3) == 1 && nearest_max(7) == 1);
    assert(nearest_max(8) == 2 && nearest_max(60) == 2);

    char a[200];
    char b[200];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    assert(nearest_distance(a, sizeof a, b, sizeof b) == NEAREST_LENGTH_MAX);
    assert(nearest_distance(a, sizeof a, a, sizeof a) == 0);
    assert(nearest_distance(a, sizeof a, b, 0) == NEAREST_LENGTH_MAX);
    return 0;
}
