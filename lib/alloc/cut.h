/* SPDX-License-Identifier: MIT */
/*
 * A span cut into blocks, and blocks taken from it, under the lock of the centre or owner that it
 * belongs to (central.c, owner.c). Which of them are free is a bit each, so the blocks themselves
 * are not written to.
 */
#ifndef ALLOC_CUT_H
#define ALLOC_CUT_H

#include "lib/window/window.h"

/* How many units the next span of a list is to have, which has made `spans` of them: the first ones
 * are short, so that a program that uses a little of every class stays small. */
size_t cut_units(const struct size_class *class, uint32_t spans);
/* Cuts the first `units` of a fresh span, which may be longer, into `blocks` free blocks, with this
 * table of records (NULL: none) and owner (a meta id; 0: none). The caller sets mark, kinds and
 * home before, and the state after it: that is last, because another thread or a forked child may
 * look at any time. */
void cut_begin(struct span *span, size_t units, unsigned blocks, const void *records,
               uint32_t owner);
/* Its end: it goes back to the pages, and its table of records to meta memory. */
void cut_end(struct span *span);
/* Takes `count` of the free blocks, of which there are as many, into end[-1] and downwards: lowest
 * first, or from a random one on with `harden`. */
void cut_take(struct span *span, void **end, unsigned count);
/* Blocks beyond the farthest that was ever taken: their pages may not be in memory yet. */
unsigned cut_fresh(const struct span *span);

#endif
