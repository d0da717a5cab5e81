/* SPDX-License-Identifier: MIT */
/*
 * The scan: which live blocks can the program still reach? From the roots (ranges of memory that
 * the program uses: data segments, stacks, its own mappings) every word that points to a block
 * leads on to that block's words, until nothing new is found. What is left is lost.
 *
 *     reachable    a pointer to the block's start, or one that counts as such, leads there
 *     possible     only a pointer into the block leads there, or such a pointer comes first
 *     indirect     lost, and another lost block points to it
 *     definite     lost, and no lost block points to it; of a cycle, one block
 *
 * A block has two bits of state, found from its address: 1/64 of the heap, and only where the heap
 * is in use. Blocks that wait to be looked at are on a stack; a long block is looked at in parts,
 * and what its first part leads to comes before the next part, so that the stack stays small for
 * lists and for arrays of pointers alike.
 *
 * No lock and no allocation from the heap. The heap must stand still: scan.c runs in a forked copy
 * of the process (leak.h), or while all other threads are stopped.
 */
#ifndef LEAK_SCAN_H
#define LEAK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "lib/leak/blocks.h"
#include "lib/leak/looks.h"
#include "lib/leak/result.h"
#include "lib/leak/touched.h"
#include "lib/leak/written.h"

/* Which pointers into a block count like pointers to its start. */
enum scan_inside {
    SCAN_INSIDE_KNOWN,  /* to the first element of `new[]`, to a base class with a vtable */
    SCAN_INSIDE_OFFSET, /* up to `offset_max` bytes behind the start */
    SCAN_INSIDE_ANY,
};

/* Blocks that do not lie in the window: guarded ones (lib/guard/cells.h), by number. */
struct scan_others {
    struct scan_range memory; /* no other memory is there, and none of it is a root, */
    struct scan_range table;  /* nor is what is known about them */
    uint32_t (*count)(void);  /* numbers are from 1 to below it */
    /* The block with that number; false if it is not live. Its record may be NULL. */
    bool (*at)(uint32_t number, struct found *block, const struct record **record);
    /* The number of the live block that an address is in, or 0. */
    uint32_t (*find)(uintptr_t address);
};

struct scan_rules {
    enum scan_inside inside;
    size_t offset_max;
    struct looks_constants constants; /* for SCAN_INSIDE_KNOWN */
    /* Blocks with such a record are no leaks, nor is what they lead to. NULL: there are none. */
    bool (*kept)(const struct record *record);
    /* Blocks that were there before are no leaks, but lead to none that is in use. NULL: all count.
     */
    const struct blocks_base *base;
    const struct touched *touched; /* NULL: all pages of blocks hold something */
    bool in_place; /* no page is read that may not be there: a fault would be the program's */
    const struct scan_others *others; /* NULL: there are none */
    bool ages;                        /* look at the ages of reachable blocks, too (ages.h) */
    const struct written *written;    /* what was written to; NULL: not known */
    /* Bits of a pointer that say nothing about where it leads, at its upper end, and at its lower
     * one: at most those of a granule. */
    unsigned tags_high, tags_low;
    unsigned step; /* bytes from one word that may be a pointer to the next; 0: a word */
};

/* What is being followed (verdicts.c). */
enum { PHASE_REACH, PHASE_POSSIBLE, PHASE_COUNT, PHASE_LEAD, PHASE_OWN };

enum { SCAN_WORDS = 512 }; /* room for pointers on their way; a power of two */

struct scan {
    struct scan_rules rules;
    struct scan_result *result;
    size_t window_bytes;
    uintptr_t untagged; /* the bits of a word that are an address */
    uint64_t *states;   /* two bits a granule */
    size_t states_bytes;
    uint8_t *others; /* states of blocks outside of the window, by number */
    uint32_t others_count;
    uint32_t *large; /* by unit: the span of the large block there, or 0 */
    size_t large_bytes;
    struct scan_range *waiting; /* parts of blocks to look at */
    size_t waiting_count, waiting_max;
    uintptr_t words[SCAN_WORDS];  /* found, and not yet followed: a ring */
    uintptr_t places[SCAN_WORDS]; /* where each was found */
    unsigned words_start, words_end;
    uint64_t now; /* ticks */
    unsigned phase;
    struct chains *chains;         /* long lists (chains.h), or NULL */
    uintptr_t chains_here;         /* a block of the kind that they are of; 0: none yet */
    unsigned alone;                /* blocks followed one after the other while no other waited */
    bool settled;                  /* blocks that are GUESSED (states.h) are reachable */
    bool lost;                     /* chains are of lost blocks */
    bool any_doubted;              /* some that were GUESSED became POSSIBLE: chains_settle looks */
    bool weak;                     /* roots lead to possibly lost blocks only */
    bool any_possible, any_unseen; /* what no block is, no pass over all of them looks for */
    uint64_t lost_blocks;          /* definitely or indirectly */
    uintptr_t here;                /* the part that words were last found in */
    uintptr_t leader;              /* the lost block that is being followed, */
    struct scan_row *leader_row;
    bool leader_cycle; /* and whether something leads back to it */
};

/* `result` is all zero. False when memory is out. */
bool scan_begin(struct scan *scan, const struct scan_rules *rules, struct scan_result *result);
/* The program uses this memory. All of it must be readable. */
void scan_root(struct scan *scan, uintptr_t start, uintptr_t end);
/* The program has this pointer. */
void scan_root_word(struct scan *scan, uintptr_t word);
/* For chains.h: a part of memory to look at. */
void scan_wait_for(struct scan *scan, uintptr_t start, uintptr_t end);
/* For chains.h: a lost block that a word at `from` points to. Its row counts it; `owner` may be
 * NULL. */
void scan_own(struct scan *scan, const struct found *block, uintptr_t from, struct scan_row *owner);
/* For verdicts.c: follows all that a block leads to; or looks at its words, of which the last may
 * still be on their way, until `scan_drain` has followed those, too. */
void scan_from(struct scan *scan, const struct found *block);
void scan_words_of(struct scan *scan, const struct found *block);
void scan_drain(struct scan *scan);
/* After the last root: the verdicts, into the result. */
void scan_finish(struct scan *scan);
/* Gives the memory of the scan back. */
void scan_end(struct scan *scan);

#endif
