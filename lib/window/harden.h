/* SPDX-License-Identifier: MIT */
/*
 * The option `harden`: blocks that resist misuse. Decided at the start; while it is off none of
 * this runs, and the hot path has no instruction for it. While it is on, no thread's `heap_now`
 * leads to a heap and each live block has the sign of watched ones, so every call goes cold.
 *
 * Blocks have tails (tail.h), are wiped when they are freed, and wait before they are used again
 * (delay.h); those of 0 bytes lie in pages that can't be touched (empty.h).
 *
 * A run that is free can't be touched, nor can the page behind each run that is in use. That takes
 * a call of the kernel's for each run, none for a block.
 */
#ifndef WINDOW_HARDEN_H
#define WINDOW_HARDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

extern HIDDEN bool harden_on;
/* Bytes of the tail, and units of the page behind a run: 0 while it is off. */
enum { HARDEN_TAIL = 8 };
extern HIDDEN size_t harden_tail;
extern HIDDEN uint32_t harden_units;

/* Secrets of this process, for tails (tail.h). */
extern HIDDEN uint64_t harden_secret, harden_fill;

/* At the start, from the options. */
void harden_init(void);

/* A number that is hard to guess, below `limit`; `state` is the caller's own and not 0. */
INLINE uint32_t harden_random(uint64_t *state, uint32_t limit)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return (uint32_t)(((x >> 32) * limit) >> 32);
}
uint64_t harden_seed(void);

/* Makes a free range inaccessible and zero. On kernels before 6.13, and where memory is locked,
 * that takes two mappings of the process's; a quarter of those it may have are used so, then
 * ranges are made zero only. True: it is marked, without a mapping. */
bool harden_close(void *at, size_t bytes);
/* Makes it accessible. False when mappings are out. */
bool harden_open(void *at, size_t bytes);
/* A range is new in the window; and the page behind a run that is about to be opened. `marked`: the
 * run is, as told before, or fresh. */
void harden_claimed(void *at, size_t bytes);
void harden_fence(void *at, size_t bytes, bool marked);

#endif
