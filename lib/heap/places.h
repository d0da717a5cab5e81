/* SPDX-License-Identifier: MIT */
/*
 * Where sampled blocks would lie. A sampled block comes from a span of its own kind, so its address
 * says nothing about the pages that its unsampled siblings keep in memory. The span of the block
 * that the thread's next malloc gets does: without the sample, the sampled block would lie there.
 * That place is noted here, and pins.c looks at what is left of its span.
 *
 * A table of fixed size, 256 KiB, of which only pages in use are in memory: 16,384 live samples,
 * about 8 GiB of heap at the usual rate. Beyond that some samples have no known place.
 */
#ifndef HEAP_PLACES_H
#define HEAP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct record;

/* A sampled block got its record just now; `next` is what the next malloc of its size gets; NULL:
 * not known. Takes no lock. */
void places_note(const void *block, const void *next);
/* A watched block ends. */
void places_forget(const void *block);

/* A unit of the span that the block would lie in; what is there now may be another one. False: not
 * known. */
bool places_find(const void *block, const struct record *record, uint32_t *unit);

#endif
