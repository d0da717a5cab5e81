/* SPDX-License-Identifier: MIT */
/*
 * The sampler's distribution: waits are exponential with the rate as their mean, a block of s bytes
 * is picked with probability 1 - exp(-s / rate), one that shrinks stays picked with the probability
 * that makes its new size decide. All within four standard errors; the seed is fixed, so a
 * pass stays a pass. The judge must refuse samplers that are a little wrong.
 */
#include "tests/unit/unit.h"

#include <math.h>

#include "base/config.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { RATE = 512 << 10 };

static uint64_t seed = 88172645463325252;
static unsigned draws;

/* Whether `hits` of `draws` fit the probability. */
static bool is_share(unsigned hits, double probability)
{
    double mean = draws * probability, sigma = sqrt(mean * (1 - probability));
    return fabs(hits - mean) <= 4 * sigma + 1;
}

static bool is_mean(double sum, double mean, double deviation)
{
    return fabs(sum / draws - mean) <= 4 * deviation / sqrt(draws);
}

static void waits_are_exponential(void)
{
    static const double at[] = {0.001, 0.01, 0.1, 0.5, 1, 2, 5};
    enum { POINTS = sizeof at / sizeof *at };
    unsigned below[POINTS] = {0};
    double sum = 0, squares = 0;
    sampler_set_rate(RATE);
    assert(sampler_rate() == RATE);
    for (unsigned i = 0; i < draws; i++) {
        double wait = (double)sampler_bytes(&seed) / RATE;
        assert(wait >= 0);
        sum += wait;
        squares += wait * wait;
        for (int k = 0; k < POINTS; k++)
            below[k] += wait < at[k];
    }
    assert(is_mean(sum, 1, 1));
    assert(is_mean(squares, 2, sqrt(20)));
    for (int k = 0; k < POINTS; k++)
        assert(is_share(below[k], 1 - exp(-at[k])));
    assert(!is_mean(sum * 1.02, 1, 1) || draws < 100000); /* two per cent off is seen */
}

/* Of blocks of one size: the first, and each later one that was not picked before. */
static void blocks_are_picked_by_their_size(void)
{
    static const size_t sizes[] = {16, 1024, 8192, 32768, RATE, 4 * RATE};
    sampler_set_rate(RATE);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double each = 1 - exp(-(double)sizes[k] / RATE);
        unsigned first = 0, hundred = 0;
        for (unsigned i = 0; i < draws; i++) {
            uint64_t wait = sampler_blocks(&seed, sizes[k], RATE);
            first += wait == 0;
            hundred += wait < 100;
        }
        assert(is_share(first, each));
        assert(is_share(hundred, 1 - pow(1 - each, 100)));
    }
}

/* A clock in bytes over mixed sizes, as large blocks use it. */
static void mixed_sizes_share_a_clock(void)
{
    enum { SIZES = 3 };
    static const size_t sizes[SIZES] = {40 << 10, 100 << 10, 1 << 20};
    unsigned picked[SIZES] = {0}, seen[SIZES] = {0};
    int64_t clock = sampler_bytes(&seed);
    for (unsigned i = 0; i < draws; i++) {
        unsigned which = (unsigned)(unit_random(&seed) % SIZES);
        seen[which]++;
        clock -= (int64_t)sizes[which];
        if (clock >= 0)
            continue;
        picked[which]++;
        clock = sampler_bytes(&seed);
    }
    for (int k = 0; k < SIZES; k++) {
        double p = 1 - exp(-(double)sizes[k] / RATE), mean = seen[k] * p;
        assert(fabs(picked[k] - mean) <= 4 * sqrt(mean * (1 - p)));
    }
}

static void shrunk_blocks_stay_by_their_new_size(void)
{
    static const size_t pairs[][2] = {
        {64 << 10, 36 << 10}, {36 << 10, 33 << 10}, {RATE, RATE / 2},
        {4 * RATE, RATE},     {8 * RATE, 40 << 10}, {RATE / 8, RATE / 9},
    };
    sampler_set_rate(RATE);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        double before = 1 - exp(-(double)pairs[k][0] / RATE);
        double now = 1 - exp(-(double)pairs[k][1] / RATE);
        unsigned kept = 0;
        for (unsigned i = 0; i < draws; i++)
            kept += sampler_keeps(&seed, pairs[k][0], pairs[k][1], RATE);
        assert(is_share(kept, now / before));
    }
}

/* A generator that stands still gives the longest wait again and again. */
static void a_bad_generator_ends_all_the_same(void)
{
    uint64_t still = 0;
    alarm(60);
    assert(sampler_keeps(&still, RATE, RATE / 2, RATE));
    alarm(0);
}

static void exact_picks_all_and_off_none(void)
{
    for (int i = 0; i < 100; i++) {
        sampler_set_rate(SAMPLER_EXACT);
        assert(sampler_blocks(&seed, 16, SAMPLER_EXACT) == 0 && sampler_bytes(&seed) == 0);
        assert(sampler_keeps(&seed, 1 << 20, 1 << 16, SAMPLER_EXACT));
        sampler_set_rate(SAMPLER_OFF);
        assert(sampler_blocks(&seed, 1 << 20, SAMPLER_OFF) == UINT64_MAX &&
               sampler_bytes(&seed) == INT64_MAX);
        assert(sampler_keeps(&seed, 1 << 20, 1 << 16, SAMPLER_OFF));
    }
}

static void *set_rates(void *first)
{
    for (int64_t i = 0; i < 100; i++)
        sampler_set_rate((int64_t)(intptr_t)first + i);
    return NULL;
}

/* Threads that set rates at the same time: each rate has one number, and no number two of them. */
static void numbers_stand_for_one_rate(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, set_rates, (void *)(100000 + i % 2 * 50)) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int64_t bytes = 100000; bytes < 100150; bytes++) {
        unsigned numbers = 0;
        for (unsigned i = 0; i < SAMPLER_RATES; i++)
            numbers += sampler_rate_of(i) == bytes;
        sampler_set_rate(bytes);
        assert(numbers == 1 && sampler_rate_of(sampler_number()) == bytes);
    }
    sampler_set_rate(SAMPLER_EXACT);
    assert(sampler_number() == SAMPLER_EXACT_NUMBER && sampler_rate_of(0) == SAMPLER_EXACT);
}

static void extreme_rates_do_not_overflow(void)
{
    for (int i = 0; i < 10000; i++) {
        sampler_set_rate(INT64_MAX);
        assert(sampler_bytes(&seed) >= 0);
        (void)sampler_blocks(&seed, 1, INT64_MAX);
        sampler_set_rate(1);
        assert(sampler_bytes(&seed) < 64);
        assert(sampler_blocks(&seed, 64, 1) == 0);
    }
}

static void the_judge_refuses_wrong_samplers(void)
{
    unsigned fixed = 0, biased = 0;
    sampler_set_rate(RATE);
    for (unsigned i = 0; i < draws; i++) {
        fixed += unit_random(&seed) % RATE < RATE / 2; /* uniform instead of exponential */
        biased += sampler_blocks(&seed, RATE / 2, RATE) == 0 || i % 20 == 0;
    }
    assert(!is_share(fixed, 1 - exp(-0.5)) && !is_share(biased, 1 - exp(-0.5)));
}

/* ---- the pace ------------------------------------------------------------------------ */

enum { PACED_CLASSES = 6, PACE = 16000 };
static const size_t paced_sizes[PACED_CLASSES] = {16, 256, 2048, 8192, 16384, 32768};

enum plant {
    NOTHING,
    NEW_RATE,  /* a sample is recorded with the rate that it led to */
    BASE_RATE, /* all samples are recorded with the rate of the option */
    PLANTS
};

struct paced {
    struct heap_pace pace;
    uint64_t wait[PACED_CLASSES];
    double odds[PACED_CLASSES];
    unsigned changes;
};

static void paced_set_clocks(struct paced *it)
{
    for (int k = 0; k < PACED_CLASSES; k++) {
        it->odds[k] = sampler_picked((double)paced_sizes[k], pace_rate(&it->pace));
        it->wait[k] = sampler_blocks(&seed, paced_sizes[k], pace_rate(&it->pace));
    }
}

/* Blocks of all classes, in phases that are fast and slow, so that the rate moves all the time;
 * what each sample stands for, summed up, against the truth. How many of the classes are off. Time
 * is that of the simulation. */
static unsigned paced_classes_off(enum plant plant, struct paced *it)
{
    static const unsigned block_ns[] = {5, 2000, 5, 4000, 400, 2000};
    uint64_t ns = 0, since = 0;
    double found[PACED_CLASSES] = {0}, truth[PACED_CLASSES] = {0}, variance[PACED_CLASSES] = {0};
    pace_start(&it->pace);
    paced_set_clocks(it);
    for (unsigned i = 0; i < draws * 50; i++) {
        int k = (int)(unit_random(&seed) % PACED_CLASSES);
        bool changed = false, picked = it->wait[k]-- == 0;
        unsigned number = pace_number(&it->pace);
        ns += block_ns[i / 20000 % 6];
        truth[k]++;
        variance[k] += (1 - it->odds[k]) / it->odds[k];
        if (picked)
            it->wait[k] = sampler_blocks(&seed, paced_sizes[k], pace_rate(&it->pace));
        it->pace.samples += picked;
        if (it->pace.samples == PACE_SAMPLES || (!picked && ns - since > 10000000)) {
            changed = pace_judge(&it->pace, (ns - since) / 1000);
            since = ns;
        }
        if (plant == NEW_RATE)
            number = pace_number(&it->pace);
        if (plant == BASE_RATE)
            number = sampler_number();
        if (picked)
            found[k] += 1 / sampler_picked((double)paced_sizes[k], sampler_rate_of(number));
        if (changed)
            paced_set_clocks(it);
        it->changes += changed;
    }
    unsigned off = 0;
    for (int k = 0; k < PACED_CLASSES; k++)
        off += fabs(found[k] - truth[k]) > 4 * sqrt(variance[k]);
    return off;
}

static void sums_stay_right_while_the_rate_moves(void)
{
    struct paced it = {.changes = 0};
    config.heap_pace = PACE;
    sampler_set_paced(RATE);
    assert(sampler_is_paced() && sampler_rate() == RATE);
    for (unsigned i = 0; i <= SAMPLER_DOUBLINGS; i++)
        assert(sampler_rate_of(sampler_number() + i) == (int64_t)RATE << i);
    assert(paced_classes_off(NOTHING, &it) == 0);
    assert(it.changes > draws / 1000);
    for (enum plant plant = NOTHING + 1; plant < PLANTS; plant++)
        assert(paced_classes_off(plant, &it) > 0 || draws < 200000);
}

/* A steady thread: the pace is held from the second look on, and without a change later. */
static void a_pace_is_held(void)
{
    struct heap_pace pace;
    for (uint64_t ns = 100; ns < 1000000; ns = ns * 3 / 2) { /* between samples, at the rate */
        pace_start(&pace);
        pace.samples = PACE_SAMPLES;
        pace_judge(&pace, PACE_SAMPLES * ns / 1000);
        uint64_t us = PACE_SAMPLES * (ns << pace.doublings) / 1000;
        assert(us >= PACE_SAMPLES * 1000000ull / PACE || pace.doublings == SAMPLER_DOUBLINGS);
        pace.samples = PACE_SAMPLES;
        assert(!pace_judge(&pace, us));
        assert(pace.doublings == 0 || ns < 1000000000 / PACE);
    }
    pace_start(&pace);
    assert(pace_judge(&pace, 0) && pace.doublings == SAMPLER_DOUBLINGS);
    assert(pace_judge(&pace, 1000000) && pace.doublings == 0); /* it slept */
}

/* However fast they come. */
static void first_samples_are_not_judged(void)
{
    struct heap_pace pace;
    pace_start(&pace);
    for (int i = 0; i < PACE_FREE; i++)
        assert(!pace_sampled(&pace) && pace_rate(&pace) == RATE);
    assert(pace.turns_free == 0);
}

static void a_chosen_rate_is_not_paced(void)
{
    struct heap_pace pace;
    sampler_set_rate(RATE / 2);
    assert(!sampler_is_paced());
    sampler_set_rate(RATE);
    assert(sampler_is_paced()); /* stopped, and started again */
    sampler_fix_rate();
    pace_start(&pace);
    assert(!sampler_is_paced() && !pace_judge(&pace, 0) && pace_rate(&pace) == RATE);
}

int main(void)
{
    draws = unit_times(200000);
    sums_stay_right_while_the_rate_moves(); /* first: the numbers of the doubled rates are free */
    a_pace_is_held();
    first_samples_are_not_judged();
    a_chosen_rate_is_not_paced();
    waits_are_exponential();
    blocks_are_picked_by_their_size();
    mixed_sizes_share_a_clock();
    shrunk_blocks_stay_by_their_new_size();
    a_bad_generator_ends_all_the_same();
    exact_picks_all_and_off_none();
    numbers_stand_for_one_rate();
    extreme_rates_do_not_overflow();
    the_judge_refuses_wrong_samplers();
    return 0;
}
