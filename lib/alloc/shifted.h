/* SPDX-License-Identifier: MIT */
/*
 * Pointers into blocks that the program holds instead of the block: mimalloc's functions that align
 * an offset return them, and such a pointer need not even be a multiple of 16. free, realloc and
 * malloc_usable_size find the block here, after every other way to know a pointer has failed.
 *
 * A set of pairs, the pointer and its block. While it is empty, asking costs one load.
 */
#ifndef ALLOC_SHIFTED_H
#define ALLOC_SHIFTED_H

#include <stdbool.h>

#include "base/lock.h"

/* Remembers that p stands for `block`. False when memory is out. */
bool shifted_add(const void *p, void *block);
/* The block that p stands for, or NULL. */
void *shifted_find(const void *p);
/* The same, and forgets it: of two calls one gets the block. */
void *shifted_remove(const void *p);

extern HIDDEN struct lock shifted_lock;

#endif
