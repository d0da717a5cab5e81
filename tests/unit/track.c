/* SPDX-License-Identifier: MIT */
/*
 * What is remembered against what a shadow knows: live and cumulative sums, moves, who held memory
 * at the peak, ends by other threads, rows of ended threads, limits, forgetting.
 */
#include "tests/unit/unit.h"

#include <sched.h>

#include "base/os.h"

#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/heap/sites.h"
#include "lib/heap/totals.h"
#include "lib/watch/watch.h"

enum { SITES = 24, BLOCKS = 400, CLASS = 7 };

struct shadow {
    struct track_sum live, allocated, peak;
    uint64_t again, moved_out, ended;
};

static struct shadow shadows[SITES];
static struct record records[BLOCKS];
static unsigned site_of_block[BLOCKS];
static size_t sizes[BLOCKS];
static uint64_t live_now, live_max;

/* The pc is the site. */
static void begin(unsigned block, unsigned site, size_t requested, uint64_t born)
{
    struct caller caller = {0x1000 + site, 0, 0, FAMILY_MALLOC};
    struct shadow *shadow = &shadows[site];
    track_begin(&records[block], &caller, CLASS, class_size(CLASS), requested, born,
                sampler_number());
    site_of_block[block] = site;
    sizes[block] = requested;
    struct track_sum one = {1, requested, class_size(CLASS)};
    struct track_sum *sums[] = {&shadow->live, &shadow->allocated};
    for (unsigned i = 0; i < 2; i++) {
        sums[i]->objects += one.objects;
        sums[i]->requested += one.requested;
        sums[i]->usable += one.usable;
    }
    live_now += one.usable;
    if (live_now > live_max) {
        live_max = live_now;
        for (unsigned i = 0; i < SITES; i++)
            shadows[i].peak = shadows[i].live;
    }
}

static void end(unsigned block, bool moved)
{
    struct shadow *shadow = &shadows[site_of_block[block]];
    track_end(&records[block], NULL, class_size(CLASS), sizes[block], moved);
    shadow->live.objects--;
    shadow->live.requested -= sizes[block];
    shadow->live.usable -= class_size(CLASS);
    shadow->moved_out += moved;
    shadow->ended += !moved;
    live_now -= class_size(CLASS);
    sizes[block] = 0;
}

static struct shadow found[SITES];

static void sum(struct track_sum *to, const struct track_sum *from)
{
    to->objects += from->objects;
    to->requested += from->requested;
    to->usable += from->usable;
}

static void row(void *context, const struct track_row *row)
{
    uintptr_t pc;
    (void)context;
    assert(stacks_frames(row->stack, &pc, 1) == 1 && pc >= 0x1000 && pc < 0x1000 + SITES);
    assert(row->size == class_size(CLASS) && row->rate == 0 && row->weight == 1);
    struct shadow *it = &found[pc - 0x1000];
    sum(&it->live, &row->live);
    sum(&it->allocated, &row->allocated);
    sum(&it->peak, &row->peak);
    it->again += row->again;
    it->moved_out += row->moved_out;
    for (unsigned i = 0; i < LIFE_BUCKETS; i++)
        it->ended += row->lives[i];
}

static void compare(void)
{
    memset(found, 0, sizeof found);
    track_each(row, NULL);
    for (unsigned i = 0; i < SITES; i++)
        assert(memcmp(&found[i], &shadows[i], sizeof found[i]) == 0);
    struct track_seen seen;
    struct track_sum live = {0}, allocated = {0};
    track_seen(&seen);
    for (unsigned i = 0; i < SITES; i++) {
        sum(&live, &shadows[i].live);
        sum(&allocated, &shadows[i].allocated);
    }
    assert(seen.live == live.objects && seen.allocated == allocated.objects && seen.lost == 0);
}

static void random_events(uint64_t *random, unsigned events)
{
    for (unsigned i = 0; i < events; i++) {
        unsigned block = (unsigned)(unit_random(random) % BLOCKS);
        unsigned site = (unsigned)(unit_random(random) % SITES);
        size_t size = 1 + unit_random(random) % 100;
        if (sizes[block] == 0) {
            begin(block, site, size, 0);
        } else if (unit_random(random) % 4 == 0) {
            uint64_t born = track_born(&records[block]);
            end(block, true);
            begin(block, site, size, born);
        } else {
            end(block, false);
        }
        if (i % 97 == 0)
            compare();
    }
    compare();
}

/* Resized in place: one that goes on at the same site is counted there again. */
static void renewed_blocks_are_counted_again(void)
{
    static const unsigned sites[] = {5, 5, 5, 6, 6, 5};
    begin(0, sites[0], 10, 0);
    for (unsigned i = 1; i < sizeof sites / sizeof *sites; i++) {
        uint32_t before = records[0].site;
        uint64_t born = track_born(&records[0]);
        end(0, true);
        begin(0, sites[i], 10 + i, born);
        track_again(&records[0], before);
        shadows[sites[i]].again += sites[i] == sites[i - 1];
    }
    assert(shadows[5].again == 2 && shadows[6].again == 1);
    compare();
    end(0, false);
    compare();
}

/* Threads with such a heap keep a recorder. */
static void record_every_block(void)
{
    struct heap *heap = heap_make(0, 0);
    assert(heap != NULL);
    heap->watched = true;
}

static void *random_events_elsewhere(void *random)
{
    if (unit_random(random) % 4 != 0)
        record_every_block();
    random_events(random, unit_times(2000));
    track_thread_end();
    if (heap_self != NULL)
        heap_end(heap_self);
    return NULL;
}

/* Another thread ends what this one began; its own row is used again when nothing of it is left. */
static void threads_come_and_go(uint64_t *random)
{
    for (unsigned i = 0; i < 100; i++) { /* the first ones keep their rows */
        pthread_t thread;
        totals_settle(); /* or the other thread would not know this one's last events */
        assert(pthread_create(&thread, NULL, random_events_elsewhere, random) == 0);
        pthread_join(thread, NULL);
        compare();
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (sizes[i] != 0)
            end(i, false);
    compare();
    uint32_t rows = threads_count();
    for (unsigned i = 0; i < 200; i++) {
        pthread_t thread;
        totals_settle(); /* or the other thread would not know this one's last events */
        assert(pthread_create(&thread, NULL, random_events_elsewhere, random) == 0);
        pthread_join(thread, NULL);
        for (unsigned k = 0; k < BLOCKS; k++)
            if (sizes[k] != 0)
                end(k, false);
    }
    compare();
    assert(threads_count() <= rows + 1);
}

static void limits_make_it_due(void)
{
    static const struct totals_now nothing;
    struct totals_limits limits = {.live = 3 * class_size(CLASS)}, none = {0};
    totals_settle(); /* the thread's batch, too */
    totals_due = false;
    totals_arm(&limits, &nothing);
    begin(0, 0, 1, 0);
    begin(1, 0, 1, 0);
    assert(!totals_due);
    begin(2, 0, 1, 0);
    assert(totals_due);
    totals_due = false;
    totals_arm(&none, &nothing);
    begin(3, 0, 1, 0);
    assert(!totals_due);
    limits = (struct totals_limits){.time_ms = os_now_ms() + 1000000};
    totals_arm(&limits, &nothing);
    totals_tick(os_now_ms());
    assert(!totals_due);
    totals_tick(limits.time_ms);
    assert(totals_due);
    totals_arm(&none, &nothing);
    totals_due = false;
}

static unsigned rows_seen;

static void count_row(void *context, const struct track_row *row)
{
    (void)context;
    rows_seen++;
    assert(row->allocated.objects == 1 && row->live.objects == 1);
}

static void what_is_forgotten_does_not_come_back(void)
{
    track_reset();
    track_each(count_row, NULL);
    assert(rows_seen == 0);
    for (unsigned i = 0; i < 4; i++)
        end(i, false); /* of blocks from before */
    track_each(count_row, NULL);
    assert(rows_seen == 0);
    begin(0, 3, 10, 0);
    track_each(count_row, NULL);
    assert(rows_seen == 1);
}

/* However often: neither memory nor the profile runs out. */
static void forgetting_takes_no_memory(void)
{
    struct record kept[4], record;
    uint64_t bytes = table_bytes();
    for (unsigned i = 0; i < SITE_NO_ERA * 2 + 100; i++) {
        struct caller caller = {0x1000 + i % SITES, 0, 0, FAMILY_MALLOC};
        track_reset();
        track_begin(&record, &caller, CLASS, class_size(CLASS), 1, 0, SAMPLER_EXACT_NUMBER);
        if (i < 4)
            kept[i] = record;
        if (i % SITE_NO_ERA < 100) {
            rows_seen = 0;
            track_each(count_row, NULL);
            assert(rows_seen == 1);
        }
        if (i >= 4 && i < 8)
            track_end(&kept[i - 4], NULL, class_size(CLASS), 1, false); /* of an era that is over */
        track_end(&record, NULL, class_size(CLASS), 1, false);
    }
    assert(table_bytes() == bytes);
}

static void a_thread_can_stay_out(void)
{
    struct record record = {0};
    struct caller caller = {0x1000, 0, 0, FAMILY_MALLOC};
    track_set_thread_active(false);
    assert(!track_thread_active());
    track_begin(&record, &caller, CLASS, class_size(CLASS), 1, 0, sampler_number());
    assert(record.site == 0);
    track_end(&record, NULL, class_size(CLASS), 1, false);
    track_set_thread_active(true);
    track_begin(&record, &caller, CLASS, class_size(CLASS), 1, 0, sampler_number());
    assert(record.site != 0);
    track_end(&record, NULL, class_size(CLASS), 1, false);
}

static int in_shared_memory(void *record)
{
    struct caller caller = {0x1000, 0, 0, FAMILY_MALLOC};
    track_begin(record, &caller, CLASS, class_size(CLASS), 1, 0, SAMPLER_EXACT_NUMBER);
    return 0;
}

static void *shares_memory(void *record)
{
    static char stack[64 << 10];
    pid_t child =
        clone(in_shared_memory, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, record);
    assert(child > 0 && waitpid(child, NULL, 0) == child);
    return NULL;
}

/* A child that shares our memory has no row, and takes nobody's. */
static void children_in_our_memory_take_no_row(void)
{
    pthread_t thread;
    struct record record = {0};
    struct thread_row before, after;
    if (unit_emulated())
        return; /* qemu gives such a child a copy */
    assert(threads_row(threads_self(), &before));
    for (unsigned i = 0; i < 20; i++) {
        assert(pthread_create(&thread, NULL, shares_memory, &record) == 0);
        pthread_join(thread, NULL);
        assert(record.site != 0 && site_thread(site_at(site_id(record.site))) == THREAD_OTHER);
        track_end(&record, NULL, class_size(CLASS), 1, false);
    }
    assert(threads_row(threads_self(), &after) && after.alive && after.id == before.id);
}

/* Those with a large alignment may be as short as a unit. One weight fits a range if its sizes
 * differ by a thirty-second at most. */
static void large_blocks_have_ranges(void)
{
    uint32_t last = 0;
    for (size_t usable = UNIT, min = UNIT; usable < BLOCK_MAX * 8; usable += UNIT) {
        uint32_t kind = site_kind_large(usable);
        if (kind != last)
            min = usable;
        assert(kind >= last && usable - min < min / 32 + 1);
        last = kind;
    }
    last = 0;
    for (size_t usable = UNIT; usable < (size_t)1 << 46; usable += usable / 16) {
        uint32_t kind = site_kind(CLASS_COUNT, usable, 255);
        struct site site = {.entry.b = kind};
        assert(kind >= last && site_class(&site) >= CLASS_COUNT);
        assert(site_rate(&site) == 255);
        last = kind;
    }
}

static void series_keeps_the_whole_run(void)
{
    static struct series_point points[SERIES_MAX];
    uint64_t start = os_now_ms() + 1000000, time = start;
    for (unsigned i = 0; i < 100000; i++)
        totals_tick(time += 10);
    unsigned count = series_points(points);
    assert(count > SERIES_MAX / 2 - 2 && count <= SERIES_MAX);
    for (unsigned i = 1; i < count; i++)
        assert(points[i].time_ms > points[i - 1].time_ms);
    assert(points[2].time_ms < start + 10000 && points[count - 1].time_ms > time - 10000);
}

static uint64_t peak_time_ms(void)
{
    static const struct account nothing;
    struct totals_peak peak;
    totals_peak(&nothing, &peak);
    return peak.time_ms;
}

/* Without a free in between: the time of the last growth, and no later one. */
static void a_growing_peak_has_its_last_time(void)
{
    begin(0, 0, 1, 0);
    uint64_t first_ms = peak_time_ms();
    assert(usleep(40000) == 0);
    begin(1, 0, 1, 0);
    uint64_t last_ms = peak_time_ms();
    assert(first_ms > 0 && last_ms >= first_ms + 30);
    totals_tick(last_ms + 20);
    assert(peak_time_ms() == last_ms);
    end(0, false);
    end(1, false);
}

int main(void)
{
    uint64_t random = 88172645463325252;
    unit_start();
    sampler_set_rate(SAMPLER_EXACT);
    a_growing_peak_has_its_last_time();
    renewed_blocks_are_counted_again();
    random_events(&random, unit_times(2000));
    record_every_block();
    random_events(&random, unit_times(20000));
    threads_come_and_go(&random);
    limits_make_it_due();
    what_is_forgotten_does_not_come_back();
    forgetting_takes_no_memory();
    a_thread_can_stay_out();
    if (unit_may_clone())
        children_in_our_memory_take_no_row();
    large_blocks_have_ranges();
    series_keeps_the_whole_run();
    return 0;
}
