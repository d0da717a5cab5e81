/* SPDX-License-Identifier: MIT */
/* See bench/micro.h: what the programs of ours share. */
#include "bench/micro.h"

#include <stdio.h>

size_t size_small(uint64_t *rng)
{
    uint64_t dice = rng_next(rng);
    unsigned shape = (unsigned)(dice >> 56);
    size_t fine = (size_t)(dice & 0xffff);
    if (shape < 128)
        return 8 + fine % 57;
    if (shape < 208)
        return 65 + fine % 128;
    return 193 + fine % 320;
}

size_t size_program(uint64_t *rng)
{
    uint64_t dice = rng_next(rng);
    unsigned shape = (unsigned)(dice >> 54);
    size_t fine = (size_t)(dice & 0xffffff);
    if (shape < 512)
        return 8 + fine % 57;
    if (shape < 820)
        return 65 + fine % 128;
    if (shape < 940)
        return 193 + fine % 320;
    if (shape < 1010)
        return 513 + fine % 3584;
    return 4097 + fine % 28672;
}

size_t size_log(uint64_t *rng, size_t low, size_t high)
{
    unsigned octaves = 0;
    while ((low << (octaves + 1)) <= high)
        octaves++;
    size_t base = low << rng_below(rng, octaves);
    return base + (size_t)(rng_next(rng) >> 16) % base;
}

void block_fail(size_t size)
{
    fprintf(stderr, "bench: malloc(%zu) failed\n", size);
    abort();
}
