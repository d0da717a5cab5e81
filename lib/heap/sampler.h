/* SPDX-License-Identifier: MIT */
/*
 * The sampler: which blocks are recorded. A block of s bytes is picked with probability
 * 1 - exp(-s / rate). Each clock (one a heap and class, one a heap for large blocks) waits for an
 * exponentially distributed number of bytes with the rate as its mean. The exponential has no
 * memory, so a clock may be set anew at any time without changing any probability, and clocks of
 * different threads and classes need not know of each other.
 */
#ifndef HEAP_SAMPLER_H
#define HEAP_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLER_EXACT = 0, SAMPLER_OFF = -1 };

/* Mean bytes between samples, SAMPLER_EXACT (every block) or SAMPLER_OFF. */
int64_t sampler_rate(void);
void sampler_set_rate(int64_t bytes);
/* The same for the rate of the options, which threads may double up to SAMPLER_DOUBLINGS times
 * (pace.h), until sampler_fix_rate; the number of a doubled rate is that many more. */
enum { SAMPLER_DOUBLINGS = 10 };
void sampler_set_paced(int64_t bytes);
void sampler_fix_rate(void);
bool sampler_is_paced(void);
/* Whether SAMPLER_EXACT is the only rate that was ever set. */
bool sampler_exact_always(void);
/* How many blocks of `size` pass before the next one is picked at this rate; UINT64_MAX: none ever
 * is. */
uint64_t sampler_blocks(uint64_t *random, size_t size, int64_t rate);
/* The same in bytes at the rate of all threads, for blocks of many sizes: the block that makes the
 * sum exceed it is picked. */
int64_t sampler_bytes(uint64_t *random);

/* The probability that a block of that size is picked at this rate. */
double sampler_picked(double size, int64_t rate);

/* Rates by number, for data that must remember the rate at which it was counted. */
enum { SAMPLER_RATES = 256, SAMPLER_EXACT_NUMBER = 0 };
unsigned sampler_number(void); /* the number of the current rate, or of the last one */
int64_t sampler_rate_of(unsigned number);

/* Whether a block that was picked at a rate and shrinks stays picked, so that its new size decides.
 */
bool sampler_keeps(uint64_t *random, size_t before, size_t now, int64_t rate);

#endif
