/* SPDX-License-Identifier: MIT */
/*
 * Deletes that tell a size or an alignment which the block does not have: a type with another size
 * than the one that was allocated, most often through a base without a virtual destructor. Live
 * programs do that and get away with it, so the block's own size counts, and this is one line on
 * standard error, once, and a counter.
 */
#ifndef API_MISMATCH_H
#define API_MISMATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caller; /* lib/watch/unwind.h */

static const size_t SIZE_UNKNOWN = SIZE_MAX;

/* Compares what a delete tells with the live block at p; any other p is left to free. `size` may be
 * SIZE_UNKNOWN, `align` 0. */
void mismatch_look(const void *p, size_t size, size_t align, const struct caller *caller);
/* The same for a live block elsewhere, which was asked for with a size of `asked`. */
void mismatch_compare(const void *p, size_t size, size_t align, size_t asked,
                      const struct caller *caller);
/* Whether a block may be freed by the caller's function, as far as who allocated it goes: `family`,
 * called from where the stack begins. */
bool mismatch_fits(uint8_t family, uint32_t stack, const struct caller *caller);
/* How many sizes and alignments did not fit. */
uint64_t mismatch_count(void);

#endif
