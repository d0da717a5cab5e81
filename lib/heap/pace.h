/* SPDX-License-Identifier: MIT */
/*
 * The pace of samples. A thread that allocates tens of gigabytes a second needs no sample for each
 * half megabyte: at 16 KiB a block, one malloc in 32 would be one, and samples would take a third
 * of its time. So each thread doubles the rate of its bins while it takes more samples than the
 * option heap.pace wants, and halves it again when it takes fewer than a quarter.
 *
 * Sums stay right. What a sample stands for follows from the rate at which its clock was set, and
 * each is recorded with that; a change depends on samples and time that have passed, never on what
 * comes; and as the waits have no memory (sampler.h), all clocks may be set anew for the new rate.
 * Large blocks and blocks with an owner keep the rate of the option: realloc makes them longer in
 * place, and the probability of the whole is that of its parts only if one rate picked them all.
 *
 * The first PACE_FREE samples of a thread are not judged: a program that fills a hundred megabytes
 * in a few milliseconds, and then keeps them, has all the samples that it would have had slowly.
 *
 * A rate that was chosen stays as it is: the pace applies to the default of heap.rate only, and not
 * after a rate was set at run time.
 */
#ifndef HEAP_PACE_H
#define HEAP_PACE_H

#include "lib/alloc/alloc.h"

/* The rate for the bins of a heap from now on: that of all threads, with no doubling. */
void pace_start(struct heap_pace *pace);
/* A sample was taken from a bin, and recorded. True: the rate has changed, and all clocks must be
 * set anew. */
bool pace_sampled(struct heap_pace *pace);
/* The same for a slow visit without a sample, which finds a pace that has fallen. */
bool pace_visited(struct heap_pace *pace);
/* What both decide, if `pace->samples`, PACE_SAMPLES at most, took `us` microseconds. The next ones
 * are counted from 0. */
enum { PACE_SAMPLES = 32, PACE_FREE = 1024 };
bool pace_judge(struct heap_pace *pace, uint64_t us);

/* Mean bytes between samples, and its number (sampler.h). */
INLINE int64_t pace_rate(const struct heap_pace *pace)
{
    return pace->rate << pace->doublings;
}
INLINE unsigned pace_number(const struct heap_pace *pace)
{
    return pace->number + pace->doublings;
}

#endif
