/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/watch: which blocks are recorded, and the records.
 *
 * The sampler: a block of s bytes is picked with probability 1 - exp(-s / rate). Each clock (one a
 * heap and class, one a heap for large blocks) waits for an exponentially distributed number of
 * bytes with the rate as its mean. The exponential has no memory, so a clock may be set anew at any
 * time without changing any probability, and clocks of different threads and classes need not know
 * of each other.
 *
 * Walks: unwind.h.
 *
 * Samples: one record for each picked block that is live, with a number that the block's span
 * keeps for it.
 */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/watch/unwind.h"

enum { SAMPLER_EXACT = 0, SAMPLER_OFF = -1 };

/* Mean bytes between samples, SAMPLER_EXACT (every block) or SAMPLER_OFF. */
int64_t sampler_rate(void);
void sampler_set_rate(int64_t bytes);
/* How many blocks of `size` pass before the next one is picked; UINT64_MAX: none is. */
uint64_t sampler_blocks(uint64_t *random, size_t size);
/* The same in bytes, for blocks of many sizes: pick the one with which the sum exceeds it. */
int64_t sampler_bytes(uint64_t *random);

/* Whether a picked block that shrinks stays picked, so that its new size decides. */
bool sampler_keeps(uint64_t *random, size_t before, size_t now);

struct sample {
    void *block;
    size_t requested, usable;
    uint64_t time_ms;
    uint32_t tid;
    uint32_t next; /* while free: the next free one */
};

/* A record's number, or 0 when there is no memory for one. */
uint32_t samples_add(void *block, size_t requested, size_t usable, uint32_t tid);
void samples_remove(uint32_t id);
/* The record itself, while the block is live. */
const struct sample *samples_get(uint32_t id);
/* The block was resized in place. */
void samples_resize(uint32_t id, size_t requested, size_t usable);
uint64_t samples_taken(void);
uint64_t samples_live(void);
/* In a forked child. */
void samples_recover(uint32_t parent_id);

#endif
