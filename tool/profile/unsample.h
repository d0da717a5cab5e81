/* SPDX-License-Identifier: MIT */
/*
 * From what was recorded to what there was. An allocation of s bytes is recorded with probability
 * 1 - exp(-s / rate); of several under one stack only the sums are known, and all are taken to be
 * of the mean size, as jeprof, google-pprof and Go's pprof do it.
 */
#ifndef PROFILE_UNSAMPLE_H
#define PROFILE_UNSAMPLE_H

#include <math.h>
#include <stdint.h>

/* How many there were for one that was recorded; rate 0 or 1: all were. */
static inline double unsample_weight(double objects, double bytes, double rate)
{
    if (!(rate > 1) || objects == 0 || !(bytes / objects > 0))
        return 1;
    return 1 / -expm1(-(bytes / objects) / rate);
}

/* The nearest whole number; hostile values end at the largest. */
static inline int64_t unsample_round(double value)
{
    return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN : llround(value);
}

#endif
