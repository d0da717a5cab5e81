/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/sampler.h. Three parts: the numbers of the rates that were ever set, the random
 * waits until the next sample, and the probability with which a block of a size was picked. The
 * logarithm and the exponential are computed here, because the library links libc only.
 */
#include "lib/heap/sampler.h"

#include <string.h>

#include "base/compiler.h"

/* Every rate that was ever set, numbered, so that counts made at different rates can be told apart.
 * 0: the number is free, except for the first, which is SAMPLER_EXACT's. When all numbers are
 * taken, all further rates share the last one. */
static BULK int64_t rates[SAMPLER_RATES];
static int64_t rate = SAMPLER_OFF;
static unsigned number;
static bool skipped;  /* some rate other than SAMPLER_EXACT was set */
static int64_t paced; /* the rate that threads may double; 0: none */

int64_t sampler_rate(void)
{
    return load_relaxed(&rate);
}

bool sampler_exact_always(void)
{
    return !load_relaxed(&skipped);
}

/* Several threads may set rates at the same time. */
static unsigned number_for(int64_t bytes)
{
    if (bytes == SAMPLER_EXACT)
        return SAMPLER_EXACT_NUMBER;
    for (unsigned at = SAMPLER_EXACT_NUMBER + 1; at < SAMPLER_RATES; at++) {
        int64_t there = 0;
        if (__atomic_compare_exchange_n(&rates[at], &there, bytes, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            there == bytes)
            return at;
    }
    store_relaxed(&rates[SAMPLER_RATES - 1], bytes);
    return SAMPLER_RATES - 1;
}

void sampler_set_rate(int64_t bytes)
{
    if (bytes != SAMPLER_EXACT)
        store_relaxed(&skipped, true);
    if (bytes != SAMPLER_OFF)
        store_relaxed(&number, number_for(bytes));
    store_relaxed(&rate, bytes);
}

/* At start, so the numbers of the doubled rates follow that of the rate. */
void sampler_set_paced(int64_t bytes)
{
    for (unsigned doublings = 0; doublings <= SAMPLER_DOUBLINGS; doublings++)
        number_for(bytes << doublings);
    paced = bytes;
    sampler_set_rate(bytes);
}

void sampler_fix_rate(void)
{
    store_relaxed(&paced, 0);
}

bool sampler_is_paced(void)
{
    int64_t bytes = load_relaxed(&paced);
    return bytes > 0 && sampler_rate() == bytes;
}

unsigned sampler_number(void)
{
    return load_relaxed(&number);
}

int64_t sampler_rate_of(unsigned at)
{
    return load_relaxed(&rates[at]);
}

/* Natural logarithm of 0 < x < 1 with an error of about 3e-8, far below the sampling error: x = m *
 * 2^e with m near 1, then the series of the inverse hyperbolic tangent. */
static double log_of(double x)
{
    static const double ln2 = 0.69314718055994530942;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffff) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.41421356) {
        m /= 2;
        exponent++;
    }
    double t = (m - 1) / (m + 1), s = t * t;
    return exponent * ln2 + 2 * t * (1 + s * (1 / 3.0 + s * (1 / 5.0 + s * (1 / 7.0))));
}

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

static double uniform(uint64_t *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) * 0x1p-53;
}

/* A random number from the exponential distribution with this mean. */
static double wait_for(uint64_t *random, double mean)
{
    return -log_of(uniform(random)) * mean;
}

uint64_t sampler_blocks(uint64_t *random, size_t size, int64_t mean)
{
    if (mean <= 0)
        return mean == SAMPLER_EXACT ? 0 : UINT64_MAX;
    double blocks = wait_for(random, (double)mean) / (double)size;
    return blocks < 0x1p62 ? (uint64_t)blocks : UINT64_MAX;
}

int64_t sampler_bytes(uint64_t *random)
{
    int64_t mean = sampler_rate();
    if (mean <= 0)
        return mean == SAMPLER_EXACT ? 0 : INT64_MAX;
    double bytes = wait_for(random, (double)mean);
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
}

/* 1 - exp(-x) for small x. */
static double picked_share(double x)
{
    return x - x * x / 2 + x * x * x / 6 - x * x * x * x / 24;
}

double sampler_picked(double size, int64_t mean)
{
    if (mean <= 0)
        return 1;
    double x = size / (double)mean;
    if (x > 40)
        return 1;
    /* 1 - exp(-2x) = s * (2 - s): computes the share of a small part of x, then doubles it back. */
    unsigned doublings = 0;
    while (x > 0x1p-10) {
        x /= 2;
        doublings++;
    }
    double share = picked_share(x);
    while (doublings-- > 0)
        share *= 2 - share;
    return share;
}

/* A block that was picked with probability p(before) stays picked with p(now) / p(before). */
bool sampler_keeps(uint64_t *random, size_t before, size_t now, int64_t mean)
{
    return uniform(random) * sampler_picked((double)before, mean) <
           sampler_picked((double)now, mean);
}
