/* SPDX-License-Identifier: MIT */
/*
 * Dumps of one process are put in the order of their ends, not of how long each says that the
 * process had run: the first may know no earlier start than its own.
 */
#include "tool/profile/series.h"

#include "tests/unit/unit.h"

int main(void)
{
    enum { MS = 1000000, START = 1000000000 };
    for (int turned = 0; turned < 2; turned++) {
        struct profile to, moments[2], *first = &moments[turned], *second = &moments[1 - turned];
        profile_start(&to);
        profile_start(first);
        profile_start(second);
        first->time_ns = START;
        first->duration_ns = 40 * MS;
        first->exact_allocs = 1;
        second->time_ns = START + 55 * MS;
        second->duration_ns = 5 * MS;
        second->exact_allocs = 2;
        assert(series_make(&to, moments, 2));
        assert(to.exact_allocs == 2);
        profile_free(&to);
        profile_free(&moments[0]);
        profile_free(&moments[1]);
    }
    return 0;
}
