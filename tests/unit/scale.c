/* SPDX-License-Identifier: MIT */
/*
 * Values of sites add up to the allocator's counters, class by class, whatever was sampled; a
 * recorded block never counts for less than itself; what no record stands for is left over.
 */
#include "tests/unit/unit.h"

#include "lib/watch/scale.h"
#include "lib/watch/watch.h"

enum { CLASS = 5, RATE = 4096, SITES = 50, BLOCKS = 3000 };

static struct account account;
static struct scale scale;
static struct record records[BLOCKS];
static struct profile_sum sums[SCALE_MEASURES];

static struct account_sum counters(uint64_t allocs, uint64_t frees, size_t size)
{
    return (struct account_sum){allocs, frees, allocs * size, frees * size};
}

static void add(struct profile_sum *to, struct profile_sum more)
{
    to->objects += more.objects;
    to->requested += more.requested;
    to->usable += more.usable;
}

static void row(void *context, const struct profile_row *row)
{
    (void)context;
    for (unsigned measure = 0; measure < SCALE_MEASURES; measure++)
        add(&sums[measure], scale_row(&scale, measure, row));
}

/* Sums of all rows for the counters as they are. */
static void reconcile(void)
{
    memset(sums, 0, sizeof sums);
    scale_prepare(&scale, &account);
    profile_each(row, NULL);
}

static void expect(uint64_t allocated, uint64_t live, uint64_t rest_live)
{
    reconcile();
    struct profile_sum rest = scale_rest(&scale, SCALE_LIVE);
    assert(sums[SCALE_FREED].objects + scale_rest(&scale, SCALE_FREED).objects == allocated - live);
    assert(sums[SCALE_LIVE].objects + rest.objects == live && rest.objects == rest_live);
    assert(sums[SCALE_LIVE].usable + rest.usable == live * class_size(CLASS) ||
           account.classes[ACCOUNT_LARGE].allocs != 0);
    assert(sums[SCALE_PEAK].usable + scale_rest(&scale, SCALE_PEAK).usable >=
           sums[SCALE_LIVE].usable + rest.usable);
}

static void begin(unsigned i, unsigned site)
{
    struct caller caller = {0x1000 + site, 0, 0};
    profile_begin(&records[i], &caller, CLASS, class_size(CLASS), 10, 0, sampler_number());
}

int main(void)
{
    uint64_t random = 88172645463325252;
    size_t size;
    unit_start();
    size = class_size(CLASS);
    sampler_set_rate(RATE);
    for (unsigned i = 0; i < BLOCKS; i++)
        begin(i, (unsigned)(unit_random(&random) % SITES));
    for (unsigned i = 0; i < BLOCKS; i += 3)
        profile_end(&records[i], NULL, size, 10, false);
    /* More than the estimate, less than it, and just what was seen. */
    uint64_t live = BLOCKS - BLOCKS / 3;
    const uint64_t factors[] = {1, 7, 50, 1000};
    for (unsigned i = 0; i < COUNT_OF(factors); i++) {
        account.classes[CLASS] =
            counters(BLOCKS * factors[i], BLOCKS * factors[i] - live * factors[i], size);
        expect(BLOCKS * factors[i], live * factors[i], 0);
    }
    /* A moment ago there were fewer. */
    account.classes[CLASS] = counters(BLOCKS - 10, BLOCKS - 10 - live / 2, size);
    expect(BLOCKS - 10, live / 2, 0);
    /* A class without a record is left over. */
    account.classes[CLASS] = counters(BLOCKS * 9, BLOCKS * 9 - live * 9, size);
    account.classes[ACCOUNT_LARGE] = (struct account_sum){7, 2, 700000, 200000};
    expect(BLOCKS * 9 + 7, live * 9 + 5, 5);
    assert(scale_rest(&scale, SCALE_LIVE).usable == 500000);
    /* Where recording was off for a while, estimates stay what they are. */
    memset(&account.classes[ACCOUNT_LARGE], 0, sizeof account.classes[ACCOUNT_LARGE]);
    account.classes[CLASS] = counters(BLOCKS * 1000, BLOCKS * 1000 - live * 1000, size);
    profile_recording(false);
    reconcile();
    double weight = 1 / sampler_picked((double)size, RATE), wanted = (double)live * weight;
    assert((double)sums[SCALE_LIVE].objects > wanted - 1 &&
           (double)sums[SCALE_LIVE].objects < wanted + 1);
    assert(sums[SCALE_LIVE].objects + scale_rest(&scale, SCALE_LIVE).objects == live * 1000);
    assert(profile_off_ms() != 0);
    return 0;
}
