/* SPDX-License-Identifier: MIT */
/*
 * Values of sites add up to the allocator's counters, class by class, whatever was sampled; a
 * recorded block never counts for less than itself; what no record stands for is left over; and no
 * site had more at the peak than it allocated.
 */
#include "tests/unit/unit.h"

#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/heap/scale.h"
#include "lib/watch/watch.h"

enum { CLASS = 5, RATE = 4096, SITES = 50, BLOCKS = 3000 };

static struct account account;
static struct scale scale;
static struct record records[BLOCKS];
static struct scale_values sums;

static struct account_sum counters(uint64_t allocs, uint64_t frees, size_t size)
{
    return (struct account_sum){allocs, frees, allocs * size, frees * size};
}

static void add(struct track_sum *to, struct track_sum more)
{
    to->objects += more.objects;
    to->requested += more.requested;
    to->usable += more.usable;
}

static void row(void *context, const struct track_row *row)
{
    struct scale_values values = scale_row(&scale, row);
    (void)context;
    assert(values.peak.objects <= values.freed.objects + values.live.objects);
    assert(values.peak.usable <= values.freed.usable + values.live.usable);
    assert(values.peak.requested <= values.freed.requested + values.live.requested);
    assert(values.live.usable == values.live.objects * row->size || row->size == 0);
    add(&sums.freed, values.freed);
    add(&sums.live, values.live);
    add(&sums.peak, values.peak);
}

/* Sums of all rows for the counters as they are. */
static void reconcile(void)
{
    memset(&sums, 0, sizeof sums);
    scale_prepare(&scale, &account);
    track_each(row, NULL);
}

static void expect(uint64_t allocated, uint64_t live, uint64_t rest_live)
{
    reconcile();
    struct scale_values rest = scale_rest(&scale);
    assert(sums.freed.objects + rest.freed.objects == allocated - live);
    assert(sums.live.objects + rest.live.objects == live && rest.live.objects == rest_live);
    assert(sums.live.usable + rest.live.usable == live * class_size(CLASS) ||
           account.classes[ACCOUNT_LARGE].allocs != 0);
    assert(sums.peak.usable + rest.peak.usable >= sums.live.usable + rest.live.usable);
}

static void begin(unsigned i, unsigned site)
{
    struct caller caller = {0x1000 + site, 0, 0, FAMILY_MALLOC};
    track_begin(&records[i], &caller, CLASS, class_size(CLASS), 10, 0, sampler_number());
}

/* One site keeps blocks until after the peak, another one churns. By freed blocks alone a recorded
 * one stands for 100, by the peak for 110: the first site must have allocated what it held. */
static void keep_and_churn(void)
{
    enum { OTHER = CLASS + 1, KEPT = 3, CHURNED = 1000 };
    struct record kept[KEPT], churned;
    struct caller keeper = {0x2000, 0, 0, FAMILY_MALLOC}, churner = {0x3000, 0, 0, FAMILY_MALLOC};
    size_t size = class_size(OTHER);
    for (unsigned i = 0; i < KEPT; i++)
        track_begin(&kept[i], &keeper, OTHER, size, 10, 0, sampler_number());
    for (unsigned i = 0; i < CHURNED; i++) {
        track_begin(&churned, &churner, OTHER, size, 10, 0, sampler_number());
        track_end(&churned, NULL, size, 10, false);
    }
    uint64_t all = (KEPT + CHURNED) * 100, at_peak = KEPT * 110;
    account.classes[CLASS] = counters(BLOCKS * 2000, 0, class_size(CLASS)); /* the largest heap */
    account.classes[OTHER] = counters(all, all - at_peak, size);
    reconcile();
    for (unsigned i = 0; i < KEPT; i++)
        track_end(&kept[i], NULL, size, 10, false);
    account.classes[OTHER] = counters(all, all, size);
    reconcile();
    assert(scale_peak(&scale, OTHER).objects == at_peak);
    memset(&account.classes[OTHER], 0, sizeof account.classes[OTHER]);
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
        track_end(&records[i], NULL, size, 10, false);
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
    assert(scale_rest(&scale).live.usable == 500000);
    keep_and_churn();
    /* Where recording was off for a while, estimates stay what they are. */
    memset(&account.classes[ACCOUNT_LARGE], 0, sizeof account.classes[ACCOUNT_LARGE]);
    account.classes[CLASS] = counters(BLOCKS * 1000, BLOCKS * 1000 - live * 1000, size);
    track_recording(false);
    reconcile();
    double weight = 1 / sampler_picked((double)size, RATE), wanted = (double)live * weight;
    assert((double)sums.live.objects > wanted - 1 && (double)sums.live.objects < wanted + 1);
    assert(sums.live.objects + scale_rest(&scale).live.objects == live * 1000);
    assert(track_off_ms() != 0);
    return 0;
}
