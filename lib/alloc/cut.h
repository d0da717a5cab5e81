/* SPDX-License-Identifier: MIT */
/*
 * Blocks taken from a span, under the lock of the centre that it belongs to (central.c). Which of
 * them are free is a bit each, so the blocks themselves are not written to.
 */
#ifndef ALLOC_CUT_H
#define ALLOC_CUT_H

#include "lib/window/window.h"

/* Takes `count` of the free blocks, of which there are as many, into end[-1] and downwards: lowest
 * first, or from a random one on with `harden`. */
void cut_take(struct span *span, void **end, unsigned count);
/* Blocks beyond the farthest that was ever taken: their pages may not be in memory yet. */
unsigned cut_fresh(const struct span *span);

#endif
