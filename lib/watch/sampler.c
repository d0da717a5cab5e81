/* SPDX-License-Identifier: MIT */
/* See lib/watch/watch.h. The library needs libc only, so the logarithm is here, too. */
#include "base/compiler.h"
#include "lib/watch/watch.h"

#include <string.h>

static int64_t rate = SAMPLER_OFF;

int64_t sampler_rate(void)
{
    return load_relaxed(&rate);
}

void sampler_set_rate(int64_t bytes)
{
    store_relaxed(&rate, bytes);
}

/* Natural logarithm of 0 < x < 1, to about 1e-12: x = m * 2^e with m near 1, then the series of the
 * inverse hyperbolic tangent. */
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
    double t = (m - 1) / (m + 1), square = t * t, sum = 0;
    for (int k = 15; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return exponent * ln2 + 2 * t * sum;
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

/* Exponential with the given mean. */
static double wait_for(uint64_t *random, double mean)
{
    return -log_of(uniform(random)) * mean;
}

uint64_t sampler_blocks(uint64_t *random, size_t size)
{
    int64_t mean = sampler_rate();
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

bool sampler_keeps(uint64_t *random, size_t before, size_t now)
{
    int64_t mean = sampler_rate();
    if (mean <= 0)
        return mean == SAMPLER_EXACT;
    double was = (double)before / (double)mean, is = (double)now / (double)mean;
    if (was < 0.125)
        return uniform(random) * picked_share(was) < picked_share(is);
    /* Picked means that a wait ended within `before` bytes: draw such a wait and see whether it
     * ends within `now`, too. */
    double wait;
    do
        wait = wait_for(random, 1);
    while (wait >= was);
    return wait < is;
}
