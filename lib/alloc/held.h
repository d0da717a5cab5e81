/* SPDX-License-Identifier: MIT */
/*
 * Held bytes: usable bytes of all blocks that centres and pages have handed out. The program has
 * them, or they wait in bins. So held bytes are never below live bytes, and above them by what bins
 * hold. One number for all threads; it changes only where a batch of blocks or a large block
 * changes hands, and costs one atomic addition there.
 *
 * Of these, the bytes in bins are known as of each bin's last slow visit (bin.c: `bin_note`): the
 * difference is what the program has, but for what bins gave and took since.
 */
#ifndef ALLOC_HELD_H
#define ALLOC_HELD_H

#include <stdint.h>

#include "base/compiler.h"

extern HIDDEN struct held_counter {
    uint64_t bytes;
    uint64_t in_bins;
} held_counter __attribute__((aligned(64)));

/* To take away, add the negative. */
INLINE void held_add(uint64_t bytes)
{
    __atomic_fetch_add(&held_counter.bytes, bytes, __ATOMIC_RELAXED);
}

INLINE uint64_t held_bytes(void)
{
    return load_relaxed(&held_counter.bytes);
}

INLINE void held_note_in_bins(uint64_t bytes)
{
    __atomic_fetch_add(&held_counter.in_bins, bytes, __ATOMIC_RELAXED);
}

INLINE uint64_t held_in_bins(void)
{
    return load_relaxed(&held_counter.in_bins);
}

/* About what the program has. */
INLINE uint64_t held_by_program(void)
{
    uint64_t bytes = held_bytes(), in_bins = held_in_bins();
    return bytes > in_bins ? bytes - in_bins : 0;
}

/* In a forked child, before its bins are noted anew. */
INLINE void held_forget_bins(void)
{
    store_relaxed(&held_counter.in_bins, 0);
}

/* In a forked child, after lists and spans are repaired (account.c). */
void held_recover(void);

#endif
