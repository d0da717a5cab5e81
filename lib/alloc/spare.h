/* SPDX-License-Identifier: MIT */
/*
 * Spares: free blocks of watched spans that wait for a thread's next samples, without a way to the
 * centre. Only the slow code takes and keeps them. They count as cached, not in stock.taken nor in
 * cache_bytes, and a class has some only while it has a stock.
 */
#ifndef ALLOC_SPARE_H
#define ALLOC_SPARE_H

#include "lib/alloc/heap.h"

/* A block for a sample; NULL: there is none. */
void *spare_take(struct heap *heap, unsigned class);
/* Keeps a freed one for the next. False: it has to go home. */
bool spare_keep(struct heap *heap, unsigned class, void *block);
/* How many there are; 0 for a mark that is no class. */
unsigned spare_count(const struct heap *heap, unsigned mark);
/* Bytes of all spares of the heap. */
size_t spares_bytes(const struct heap *heap);
/* All go home. */
void spares_give(struct heap *heap);

#endif
