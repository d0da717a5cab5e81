/* SPDX-License-Identifier: MIT */
/*
 * Blocks on their way to a centre whose lock is taken. With more threads than processors the thread
 * that has it may not run for long, and each one that waits for it holds its memory meanwhile. So a
 * thread that brings blocks leaves them in a parcel and goes on; the thread that has the lock, or
 * takes it next, puts them into their spans (central.c). The blocks themselves are not written to.
 *
 * Any thread may add a parcel at any time; only the one with the lock takes one away.
 */
#ifndef ALLOC_PARCEL_H
#define ALLOC_PARCEL_H

#include <stdbool.h>
#include <stdint.h>

struct parcel {
    uint32_t next; /* the number of the one that was there before (meta.h); 0: the last */
    uint32_t count;
    void *blocks[];
};

/* Adds `count` blocks of one centre to its parcels; returns how many: there may be no memory for
 * all. */
unsigned parcels_add(uint32_t *parcels, void *const *blocks, unsigned count);
/* The newest one, or NULL; it is given back with `parcel_end`. */
struct parcel *parcels_take(uint32_t *parcels);
void parcel_end(struct parcel *parcel);

#endif
