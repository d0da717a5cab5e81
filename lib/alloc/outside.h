/* SPDX-License-Identifier: MIT */
/*
 * Blocks outside of the window, for when it can't grow: its addresses, or those of its tables, are
 * taken, but the kernel has room elsewhere. Nothing here is fast; only programs that fill their
 * address space come here.
 *
 * A region is one mapping, wherever the kernel puts it. It holds one large block, or many small
 * ones in steps of 64 bytes, with two bits a step: `used`, and `first` for the first step of a
 * block. The bits lie in static memory or in a mapping of their own, never beside the blocks.
 *
 *      first    1 0 0 1 0 0 0 0       `used` is set first and cleared last: a change that a fork
 *      used     1 1 1 1 0 0 0 0       interrupts loses memory, and never hands it out twice
 */
#ifndef ALLOC_OUTSIDE_H
#define ALLOC_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"

/* A block; `align` is a power of two. *zero: it reads as zero. NULL when memory is out. */
void *outside_take(size_t size, size_t align, bool *zero);
/* The usable size of the live block that begins at p, 0 if there is none. */
size_t outside_size(const void *p);
/* Frees the live block that begins at p. False if another thread was first. */
bool outside_give(void *p);

/* For accounting. */
size_t outside_mapped(void);
size_t outside_resident(size_t parts_max);

extern HIDDEN struct lock outside_lock;

#endif
