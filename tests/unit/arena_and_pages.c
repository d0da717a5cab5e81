/* SPDX-License-Identifier: MIT */
/*
 * Runs of units, against a shadow that knows the owner of each: random taking, giving, extending
 * and shortening never overlaps, alignment is kept, "reads as zero" is true, neighbours join,
 * idle runs go back to the kernel, and the counters are the sums of the runs. Then the window
 * itself.
 */
#include "tests/unit/unit.h"

#include "base/os.h"
#include "lib/window/pages.h"

enum { RUNS = 400, SHADOW = 1 << 18, LIVE_MAX = 12 << 10 };

struct run {
    struct span *span;
    bool touched;
};

static struct run runs[RUNS];
static uint16_t owner[SHADOW]; /* by unit: the run's number plus one */
static size_t live_units;
static uint64_t seed = 7;

static uint32_t upto(uint32_t max)
{
    return (uint32_t)(unit_random(&seed) % max) + 1;
}

/* Claims or frees units in the shadow; how many were not as they should be. */
static unsigned shadow_set(uint32_t first, uint32_t units, unsigned from, unsigned to)
{
    unsigned faults = 0;
    for (uint32_t i = first; i < first + units; i++) {
        faults += i >= SHADOW || owner[i] != from;
        if (i < SHADOW)
            owner[i] = (uint16_t)to;
    }
    return faults;
}

static uint64_t *word_in(uint32_t unit, unsigned place)
{
    return (uint64_t *)unit_address(unit) + place * 127 % (UNIT / 8);
}

static void touch(const struct span *span, unsigned number)
{
    for (uint32_t i = 0; i < span->units; i++)
        for (unsigned place = 0; place < 3; place++)
            *word_in(span->first + i, place) = ((uint64_t)number << 32) + span->first + i;
}

static unsigned words_other_than_touched(const struct span *span, unsigned number)
{
    unsigned faults = 0;
    for (uint32_t i = 0; i < span->units; i++)
        for (unsigned place = 0; place < 3; place++)
            faults +=
                *word_in(span->first + i, place) != ((uint64_t)number << 32) + span->first + i;
    return faults;
}

static unsigned bytes_not_zero(const struct span *span)
{
    const uint64_t *words = (const uint64_t *)span_start(span);
    unsigned faults = 0;
    for (size_t i = 0; i < (size_t)span->units * UNIT / 8; i++)
        faults += words[i] != 0;
    return faults;
}

static void take(unsigned number)
{
    uint32_t units = upto(4) == 1 ? upto(600) : upto(20), align = upto(6) == 1 ? 1u << upto(7) : 1;
    struct span *span = pages_take(0, units, align);
    assert(span != NULL && span->units == units && span->state == SPAN_NONE);
    assert((uintptr_t)span_start(span) % ((uintptr_t)align * UNIT) == 0);
    assert((size_t)(span->first + units) * UNIT <= window.granules * GRANULE);
    assert(shadow_set(span->first, units, 0, number + 1) == 0);
    bool zero = span->zero, touched = upto(3) != 1;
    if (zero)
        assert(bytes_not_zero(span) == 0);
    span->zero = zero && !touched;
    span_set_units(span, false);
    store_release(&span->state, SPAN_LARGE);
    if (touched)
        touch(span, number);
    runs[number] = (struct run){span, touched};
    live_units += units;
}

static void give(unsigned number)
{
    struct run *run = &runs[number];
    if (run->touched)
        assert(words_other_than_touched(run->span, number) == 0);
    assert(shadow_set(run->span->first, run->span->units, number + 1, 0) == 0);
    live_units -= run->span->units;
    pages_give(run->span);
    run->span = NULL;
}

static void extend(unsigned number)
{
    struct run *run = &runs[number];
    uint32_t before = run->span->units, first = run->span->first, units = before + upto(30);
    if (!pages_extend(run->span, units)) {
        assert(run->span->units == before);
        return;
    }
    assert(run->span->units == units && run->span->first == first);
    assert(shadow_set(first + before, units - before, 0, number + 1) == 0);
    live_units += units - before;
    run->touched = true;
    run->span->zero = false;
    touch(run->span, number);
}

static void shorten(unsigned number)
{
    struct run *run = &runs[number];
    uint32_t before = run->span->units, units = upto(before);
    if (units == before)
        return;
    pages_shorten(run->span, units, false);
    assert(run->span->units == units);
    assert(shadow_set(run->span->first + units, before - units, number + 1, 0) == 0);
    live_units -= before - units;
    if (run->touched)
        assert(words_other_than_touched(run->span, number) == 0);
}

/* From the lowest unit up: each run ends where the next begins, and no two free ones of a kind
 * touch unless one of them was left alone. How many free runs there are of each kind. */
static bool walk_joins = true; /* there are no grounds */
static void walk(unsigned *dirty, unsigned *clean)
{
    uint32_t end = (uint32_t)(window.granules * GRANULE / UNIT);
    unsigned before = SPAN_NONE;
    bool alone = false;
    *dirty = *clean = 0;
    for (uint32_t unit = 1; unit < end;) {
        struct span *span = span_at(window.units[unit]);
        assert(window.units[unit] != 0 && span->first == unit && span->state != SPAN_NONE);
        bool alone_before = alone;
        alone = span->state == SPAN_DIRTY && span->alone;
        assert(span->state != before || span->state >= SPAN_BLOCKS || alone || alone_before ||
               !walk_joins);
        *dirty += span->state == SPAN_DIRTY;
        *clean += span->state == SPAN_CLEAN;
        before = span->state;
        unit += span->units;
    }
}

static void random_operations_never_overlap(void)
{
    unsigned dirty, clean;
    for (unsigned i = 0; i < unit_times(40000); i++) {
        unsigned number = upto(RUNS) - 1;
        if (runs[number].span == NULL) {
            if (live_units < LIVE_MAX)
                take(number);
        } else {
            unsigned what = upto(8);
            what == 1 ? extend(number) : what == 2 ? shorten(number) : give(number);
        }
        if (i % 1000 == 0) {
            walk(&dirty, &clean);
            assert(unit_faults() == 0 && pages_of[0].used_units == live_units);
        }
        if (i % 5000 == 0)
            assert(pages_return(0, UINT64_MAX) % UNIT == 0 && pages_of[0].dirty_units == 0);
    }
}

static void all_given_back_is_one_run(void)
{
    unsigned dirty, clean;
    for (unsigned number = 0; number < RUNS; number++)
        if (runs[number].span != NULL)
            give(number);
    walk(&dirty, &clean);
    assert(pages_of[0].used_units == 0 && live_units == 0 && unit_faults() == 0);
    size_t idle = pages_of[0].dirty_units;
    assert(pages_return(0, UINT64_MAX) <= idle * UNIT);
    walk(&dirty, &clean);
    assert(dirty == 0 && clean == 1);
    assert(pages_of[0].clean_units == window.granules * GRANULE / UNIT - 1);
}

static struct span *used_run(uint32_t units)
{
    struct span *span = pages_take(0, units, 1);
    assert(span != NULL);
    span->zero = false;
    span_set_units(span, false);
    store_release(&span->state, SPAN_LARGE);
    memset(span_start(span), 'd', (size_t)units * UNIT);
    return span;
}

static void idle_runs_go_back_after_the_delay(void)
{
    config.return_delay_ms = 4000;
    assert(pages_look_ms() == 1000);
    struct span *early = used_run(10), *wall = used_run(1), *late = used_run(20);
    uint32_t first = early->first;
    uint64_t returned = pages_of[0].returned_units, now = os_now_ms();
    pages_give(early);
    span_at(pages_of[0].newest)->since_ms = now - 3000; /* as if three seconds ago */
    pages_give(late);
    assert(pages_of[0].dirty_units >= 30);
    pages_tick(now + 500); /* neither is old enough */
    assert(pages_of[0].returned_units == returned);
    pages_tick(now + 1100); /* asked too soon after the last look */
    assert(pages_of[0].returned_units == returned);
    pages_tick(now + 1600);
    assert(pages_of[0].returned_units == returned + 10);
    assert(os_resident(unit_address(first), 10 * UNIT, OS_ALL_PARTS) == 0);
    pages_tick(now + 60000);
    assert(pages_of[0].returned_units >= returned + 30 && pages_of[0].dirty_units == 0);
    pages_give(wall);
    pages_return(0, UINT64_MAX);

    config.return_delay_ms = config_never;
    pages_give(used_run(5));
    pages_tick(now + 1000000);
    assert(pages_of[0].dirty_units == 5);
    config.return_delay_ms = 0;
    pages_give(used_run(9));
    assert(pages_of[0].dirty_units == 0);
    config_defaults(&config);
}

static void dirty_runs_are_used_before_clean_ones(void)
{
    struct span *span = used_run(50);
    char *at = span_start(span);
    pages_give(span);
    for (uint32_t units = 50; units > 10; units -= 7) {
        span = used_run(units);
        assert(span_start(span) == at);
        pages_give(span);
    }
    pages_return(0, UINT64_MAX);
}

/* Lists rebuilt from states are the same as before. */
static void recovery_finds_every_run(void)
{
    struct span *some[20];
    for (int i = 0; i < 20; i++)
        some[i] = used_run(1 + (uint32_t)i * 5);
    for (int i = 0; i < 20; i += 2)
        pages_give(some[i]);
    struct pages before = pages_of[0];
    pages_recover();
    assert(unit_faults() == 0);
    assert(pages_of[0].used_units == before.used_units);
    assert(pages_of[0].dirty_units == before.dirty_units);
    assert(pages_of[0].clean_units == before.clean_units);
    assert(memcmp(pages_of[0].filled, before.filled, sizeof before.filled) == 0);
    for (int i = 0; i < 20; i += 2) {
        some[i] = pages_take(0, 1 + (uint32_t)i * 5, 1);
        assert(some[i] != NULL && !some[i]->zero);
        pages_give(some[i]);
    }
    for (int i = 1; i < 20; i += 2)
        pages_give(some[i]);
    pages_return(0, UINT64_MAX);
    unsigned dirty, clean;
    walk(&dirty, &clean);
    assert(dirty == 0 && clean == 1);
}

static void pools_keep_their_own(void)
{
    struct span *mine = used_run(4), *theirs = pages_take(5, 4, 1);
    assert(theirs != NULL && theirs->pool == 5 && pages_of[5].used_units == 4);
    span_set_units(theirs, false);
    store_release(&theirs->state, SPAN_LARGE);
    assert(unit_faults() == 0);
    pages_give(theirs);
    pages_give(mine);
    assert(pages_of[5].used_units == 0 && pages_of[0].used_units == 0 && unit_faults() == 0);
}

static void impossible_runs_are_refused(void)
{
    size_t mapped = arena_mapped();
    assert(pages_take(0, (UINT32_C(1) << 31) - 1, 1) == NULL);
    assert(arena_mapped() >= mapped && unit_faults() == 0);
}

/* Short runs of two sides lie apart; long ones, and all that was returned, lie anywhere. A run that
 * can't be had makes one run of all grounds again. */
static void grounds_keep_sides_apart(void)
{
    enum { EACH = 40, UNITS = 4 };
    struct span *some[2][EACH];
    uint32_t low[2] = {UINT32_MAX, UINT32_MAX}, high[2] = {0, 0};
    unsigned dirty, clean;
    pages_several = true;
    for (int i = 0; i < EACH; i++)
        for (unsigned side = 0; side < 2; side++) {
            pages_side = (uint8_t)(1 + side);
            struct span *span = some[side][i] = used_run(UNITS);
            low[side] = span->first < low[side] ? span->first : low[side];
            high[side] = span->first > high[side] ? span->first : high[side];
        }
    assert(high[0] < low[1] || high[1] < low[0]);
    assert(high[0] - low[0] == (EACH - 1) * UNITS && high[1] - low[1] == (EACH - 1) * UNITS);
    struct pages before = pages_of[0];
    pages_recover();
    assert(memcmp(pages_of[0].filled, before.filled, sizeof before.filled) == 0);
    assert(pages_of[0].clean_units == before.clean_units && unit_faults() == 0);
    struct span *end = used_run(17); /* longer than any of small blocks: from no ground */
    assert(end->first > high[0] + UNITS && end->first > high[1] + UNITS);
    pages_give(end);
    for (int i = 0; i < EACH; i++)
        for (unsigned side = 0; side < 2; side++)
            pages_give(some[side][i]);
    pages_return(0, UINT64_MAX);
    walk_joins = false;
    walk(&dirty, &clean);
    assert(dirty == 0 && clean > 1);
    walk_joins = true;
    assert(pages_take(0, (UINT32_C(1) << 31) - 1, 1) == NULL);
    walk(&dirty, &clean);
    assert(dirty == 0 && clean == 1 && unit_faults() == 0);
    pages_several = false;
    pages_side = 0;
}

/* What stands in the window's way is stepped over and left alone. */
static void strangers_in_the_window_are_left_alone(void)
{
    size_t open = window.granules * GRANULE;
    char *stranger = (char *)window.base + open + (1 << 20);
    assert(os_map_at(stranger, os_page_size()) == 0);
    *stranger = 's';
    struct span *span = pages_take(0, (uint32_t)(open / UNIT), 1);
    assert(span != NULL && span_start(span) > stranger);
    assert(*stranger == 's');
    for (unsigned mark = 0; mark < MARK_COUNT; mark++)
        assert(*live_in(window.live[mark], stranger) == 0);
    span->zero = true;
    span_set_units(span, false);
    pages_give(span);
    assert(os_unmap(stranger, os_page_size()));
}

static void planted_faults_are_found(void)
{
    struct span *span = used_run(8), *other = used_run(8);
    span->units++; /* overlaps what follows, and the sums are wrong */
    assert(unit_faults() > 0);
    span->units--;
    assert(unit_faults() == 0);
    pages_of[0].dirty_units++;
    assert(unit_faults() == 1);
    pages_of[0].dirty_units--;
    assert(shadow_set(50, 10, 0, 1) == 0 && shadow_set(59, 3, 0, 2) == 1);
    touch(span, 1);
    *word_in(span->first + 7, 2) = 0;
    assert(words_other_than_touched(span, 1) == 1 && bytes_not_zero(span) > 0);
    pages_give(span);
    pages_give(other);
}

int main(void)
{
    unit_start();
    config.return_delay_ms = config_never;
    random_operations_never_overlap();
    all_given_back_is_one_run();
    idle_runs_go_back_after_the_delay();
    dirty_runs_are_used_before_clean_ones();
    recovery_finds_every_run();
    grounds_keep_sides_apart();
    pools_keep_their_own();
    impossible_runs_are_refused();
    strangers_in_the_window_are_left_alone();
    planted_faults_are_found();
    return 0;
}
