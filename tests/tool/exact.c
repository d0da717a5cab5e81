/* SPDX-License-Identifier: MIT */
/*
 * By thread, what was allocated is what the threads' counters tell, and no thread has more live
 * than it has allocated; the rows add up to what they were before, and the rest takes what samples
 * had credited to the wrong thread. A thread without a count keeps its estimate.
 */
#include "tool/profile/exact.h"

#include "base/compiler.h"
#include "tests/unit/unit.h"
#include "tool/profile/profile.h"

enum { FIRST = 11, SECOND = 12, UNCOUNTED = 13 };

static struct profile_thread threads[] = {
    {.id = FIRST, .counted = true, .alloc_objects = 25, .alloc_bytes = 2000},
    {.id = SECOND, .counted = true, .alloc_objects = 40, .alloc_bytes = 7000},
    {.id = UNCOUNTED},
};
static struct profile profile = {.counted = true,
                                 .threads = {.items = threads, .count = COUNT_OF(threads)}};

static void answers(const char *type, const int64_t estimates[4], const int64_t wanted[4],
                    bool counted)
{
    static const int64_t ids[4] = {FIRST, SECOND, UNCOUNTED, EXACT_REST};
    struct exact_row rows[4];
    for (unsigned i = 0; i < COUNT_OF(rows); i++)
        rows[i] = (struct exact_row){ids[i], estimates[i], false};
    assert(profile_exact_threads(&profile, type, rows, COUNT_OF(rows)));
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        assert(rows[i].value == wanted[i]);
        assert(rows[i].exact == (counted && i < 2));
    }
}

int main(void)
{
    struct exact_row none = {EXACT_REST, 0, false};
    answers(TYPE_ALLOC_SPACE, (int64_t[4]){9000, 0, 500, 500}, (int64_t[4]){2000, 7000, 500, 500},
            true);
    answers(TYPE_ALLOC_OBJECTS, (int64_t[4]){10, 60, 5, 5}, (int64_t[4]){25, 40, 5, 10}, true);
    answers(TYPE_INUSE_SPACE, (int64_t[4]){3900, 5000, 9000, 100},
            (int64_t[4]){2000, 5000, 9000, 2000}, false);
    answers(TYPE_INUSE_OBJECTS, (int64_t[4]){25, 41, 1, 0}, (int64_t[4]){25, 40, 1, 1}, false);
    answers(TYPE_PEAK_SPACE, (int64_t[4]){2001, 7001, 1, 0}, (int64_t[4]){2000, 7000, 1, 2}, false);
    assert(!profile_exact_threads(&profile, TYPE_CPU, &none, 1));
    assert(!profile_exact_threads(&profile, TYPE_ALLOC_REQUESTED, &none, 1));
    return 0;
}
