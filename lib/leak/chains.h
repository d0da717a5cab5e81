/* SPDX-License-Identifier: MIT */
/*
 * Long lists, followed at several places at once. The blocks of a list are a chain of loads that
 * wait for each other: at one place, a list of a GiB in random order takes as long as 30 million
 * misses of all caches. So while a scan has nothing but one block to go on with, it also follows
 * chains from other blocks that it has not seen yet, although nothing says that they are reachable,
 * and makes a step of each in turn.
 *
 *     a chain       s -> . -> . -> . -> end       all of them GUESSED; s is in a table
 *
 * A block belongs to a chain only if one of its words is in the window, and that word leads to the
 * start of a block. When the scan reaches s, all of the chain is reachable, and it goes on at the
 * end; the blocks keep their state. When it reaches another block of a chain, it follows the
 * blocks from there as if they had not been seen. When a pointer into such a block is found, it is
 * POSSIBLE until more is known. At the end of the phase, chains that were not reached are walked
 * over once more, and their blocks are unseen again; and, if any block became POSSIBLE in that way,
 * so are those that were reached, whose blocks are all reachable. So nothing depends on which
 * blocks were guessed, and no block is looked at more than three times.
 *
 * Lost lists have chains, too, once it is known how many lost blocks point to each:
 *
 *     a chain       s | -> . -> . -> . -> end     s is MANY; the others were ONCE, are REACHED
 *
 * Only the block before leads to one that was pointed to ONCE: so these belong to the lost block
 * that owns s, and are counted as the walk comes to them. No walk goes past a block that is MANY,
 * as s is made to be: a cycle ends there.
 */
#ifndef LEAK_CHAINS_H
#define LEAK_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chains;
struct scan;

/* NULL if memory is out: then lists are followed at one place. */
struct chains *chains_begin(void);
void chains_end(struct chains *chains);
/* Memory of it, for those that must leave it out or count it. */
size_t chains_bytes(void);

/* One step of each chain, new ones being begun among blocks of the kind that is at `here`. */
void chains_step(struct scan *scan, uintptr_t here);
/* Whether a chain that was reached is not at its end. */
bool chains_busy(const struct chains *chains);
/* The scan has come to this GUESSED block. True if it begins a chain: then the scan goes on at its
 * end by itself. */
bool chains_reach(struct scan *scan, uintptr_t start);
/* From now on chains are of lost blocks. */
void chains_lost(struct scan *scan);
/* The scan goes on at the end of the lost chain that begins there, which is its leader's if `own`;
 * false: none begins there. */
bool chains_lead(struct scan *scan, uintptr_t start, bool own);
/* Chains of lost blocks become no longer, and no more. */
void chains_stop(struct scan *scan);
/* No more blocks are reached: forgets chains that were not. What is GUESSED now is reachable. */
void chains_settle(struct scan *scan);

#endif
