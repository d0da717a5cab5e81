/* SPDX-License-Identifier: MIT */
/* Sealed units are counted as ranges: against a plain model, over words, and by threads whose units
 * are neighbours. */
#include "lib/window/seal.h"

#include "tests/unit/unit.h"

enum { UNITS = 1000, FAR = 1 << 20, THREADS = 4, STEP = 5, GIB_UNITS = 1 << 18 };

static uint64_t ranges_in(const bool *sealed, unsigned units)
{
    uint64_t ranges = 0;
    for (unsigned i = 0; i < units; i++)
        ranges += sealed[i] && (i == 0 || !sealed[i - 1]);
    return ranges;
}

static bool any_in(const bool *sealed, unsigned first, unsigned units)
{
    bool any = false;
    for (unsigned i = first; i < first + units; i++)
        any |= sealed[i];
    return any;
}

static void nothing_is_sealed_at_first(void)
{
    assert(seal_ranges() == 0 && !seal_any(0, UNITS) && !seal_any(FAR, UNITS));
}

static void ranges_are_those_of_a_model(void)
{
    static bool sealed[UNITS];
    uint64_t random = 1;
    assert(seal_prepare(FAR, UNITS));
    for (unsigned i = 0; i < unit_times(200000); i++) {
        unsigned first = (unsigned)(unit_random(&random) % UNITS);
        unsigned max = (unit_random(&random) & 1) != 0 ? UNITS - first : 3;
        unsigned units = 1 + (unsigned)(unit_random(&random) % max);
        if (first + units > UNITS)
            units = UNITS - first;
        assert(seal_any(FAR + first, units) == any_in(sealed, first, units));
        bool now = (unit_random(&random) & 1) != 0;
        memset(sealed + first, now, units);
        seal_note(FAR + first, units, now);
        assert(seal_ranges() == ranges_in(sealed, UNITS));
    }
    seal_note(FAR, UNITS, false);
    assert(seal_ranges() == 0);
}

/* A freed run that grows by memory of which nothing was ever sealed: more than a sheet of notes. */
static void what_was_never_sealed_can_be_opened(void)
{
    uint32_t first = 9 * GIB_UNITS - UNITS;
    assert(seal_prepare(first, UNITS));
    seal_note(first, UNITS, true);
    assert(seal_ranges() == 1 && seal_any(first, 5 * GIB_UNITS));
    seal_note(first, 5 * GIB_UNITS, false);
    assert(seal_ranges() == 0 && !seal_any(first, 5 * GIB_UNITS));
}

static bool shared[UNITS];

/* Every thread has each fourth group of five units. */
static void *churn(void *number)
{
    uint64_t random = (uintptr_t)number + 1;
    for (unsigned i = 0; i < unit_times(200000); i++) {
        unsigned group = (unsigned)(unit_random(&random) % (UNITS / STEP / THREADS));
        unsigned first = (group * THREADS + (unsigned)(uintptr_t)number) * STEP;
        unsigned skip = (unsigned)(unit_random(&random) % STEP);
        bool now = (unit_random(&random) & 1) != 0;
        memset(shared + first + skip, now, STEP - skip);
        seal_note(FAR + first + skip, STEP - skip, now);
    }
    return NULL;
}

static void neighbours_count_once(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, churn, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
    assert(seal_ranges() == ranges_in(shared, UNITS));
    seal_note(FAR, UNITS, false);
    assert(seal_ranges() == 0);
}

/* One unit for each thread: often there is no range at all. */
static void *toggle(void *number)
{
    for (unsigned i = 0; i < unit_times(200000); i++) {
        seal_note(FAR + (uint32_t)(uintptr_t)number, 1, (i & 1) == 0);
        assert(seal_ranges() <= UNITS);
    }
    seal_note(FAR + (uint32_t)(uintptr_t)number, 1, false);
    return NULL;
}

static void there_are_never_too_many(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, toggle, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
    assert(seal_ranges() == 0);
}

int main(void)
{
    unit_start();
    nothing_is_sealed_at_first();
    ranges_are_those_of_a_model();
    what_was_never_sealed_can_be_opened();
    neighbours_count_once();
    there_are_never_too_many();
    return 0;
}
