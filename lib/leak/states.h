/* SPDX-License-Identifier: MIT */
/* The state of each block in a scan: two bits for a block in the window, found from its address; a
 * byte for one outside of it, found by its number. For scan.c and chains.c. */
#ifndef LEAK_STATES_H
#define LEAK_STATES_H

#include "lib/alloc/alloc.h"
#include "lib/leak/scan.h"

/* While reachable blocks are looked for, some have been walked over in advance (chains.h). From
 * PHASE_COUNT on no block is POSSIBLE or GUESSED any more: all that are counted already are
 * REACHED, and others have been pointed to ONCE, or by more (MANY) lost blocks. */
enum { UNSEEN, REACHED, POSSIBLE, LED };
enum { GUESSED = LED, ONCE = POSSIBLE, MANY = LED, LEADER = POSSIBLE };
enum { STATE_BITS = 2, STATES_IN_WORD = 64 / STATE_BITS };

/* Takes the memory of a scan; false if memory is out. `scan_end` gives it back. */
bool states_take(struct scan *scan);

INLINE uint64_t *state_word(const struct scan *scan, uintptr_t block, unsigned *shift)
{
    size_t granule = (block - window.base) >> GRANULE_SHIFT;
    *shift = (unsigned)(granule % STATES_IN_WORD) * STATE_BITS;
    return &scan->states[granule / STATES_IN_WORD];
}

/* Of a block in the window, by its start. */
INLINE unsigned state_at(const struct scan *scan, uintptr_t start)
{
    unsigned shift;
    const uint64_t *word = state_word(scan, start, &shift);
    return *word >> shift & ((1u << STATE_BITS) - 1);
}

INLINE void state_set_at(const struct scan *scan, uintptr_t start, unsigned state)
{
    unsigned shift;
    uint64_t *word = state_word(scan, start, &shift);
    *word &= ~((((uint64_t)1 << STATE_BITS) - 1) << shift);
    *word |= (uint64_t)state << shift;
}

INLINE unsigned state_of(const struct scan *scan, const struct found *block)
{
    return unlikely(block->other != 0) ? scan->others[block->other] : state_at(scan, block->start);
}

INLINE void state_set(const struct scan *scan, const struct found *block, unsigned state)
{
    if (unlikely(block->other != 0))
        scan->others[block->other] = (uint8_t)state;
    else
        state_set_at(scan, block->start, state);
}

/* Begins the loads that are needed for the state of a block that a word may point to, */
INLINE void state_expect(const struct scan *scan, uintptr_t word)
{
    const void *p = (const void *)word;
    unsigned shift;
    __builtin_prefetch(live_in(window.live[window.kinds[unit_of(p)]], p));
    __builtin_prefetch(state_word(scan, word, &shift), 1);
}

/* and for its contents. */
INLINE void block_expect(const struct scan *scan, uintptr_t word)
{
    __builtin_prefetch((const void *)word);
    state_expect(scan, word);
}

#endif
