/* SPDX-License-Identifier: MIT */
/*
 * Debugged blocks: the allocator's own blocks, with words around what the program gets, as
 * gperftools' debug allocator has them:
 *
 *      | words  fill | words | block | words | fill |
 *       <------ front ------>         <--- to the end of the allocator's block
 *
 * The words tell all about the block and have a checksum, so that a write before or behind the
 * block is noticed when it is freed, and each of the copies is enough for the report. `front` is 48
 * bytes, where the first two copies are one, unless the block is aligned to more.
 *
 * A freed block is filled and waits in a queue (debug_queue.h); what has changed when it leaves was
 * written to after its free. Which blocks are debugged, and how they are malloc's, is told in
 * lib/api/debugging.h.
 */
#ifndef GUARD_DEBUG_H
#define GUARD_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/guard/cells.h"

enum {
    DEBUG_NEW = 0xab,    /* the bytes of a new block, */
    DEBUG_FREED = 0xcd,  /* of a freed one, */
    DEBUG_AROUND = 0xa9, /* and those between words and the ends of the allocator's block */
    DEBUG_WORDS = 48,    /* bytes of the words, as they stand in memory */
};

struct debug_words {
    uint64_t sum; /* of the other words and the block's address */
    uint64_t size;
    uint32_t stack, thread; /* that allocated it */
    uint32_t time_ms;       /* and when: the low bits */
    uint32_t front : 24;    /* in 16 bytes */
    uint32_t family : 8;
};

/* The allocator's block that a debugged one lies in. */
struct debug_place {
    char *start;
    size_t room;
};

/* How large that must be. */
size_t debug_room(size_t size, size_t align);
/* Writes the words; where the program's block begins. */
char *debug_begin(struct debug_place place, size_t size, size_t align, unsigned family,
                  const struct cell_event *born);

enum debug_verdict {
    DEBUG_FINE,
    DEBUG_NO_BLOCK, /* none begins at p */
    DEBUG_STOMPED,  /* bytes around it were changed */
};

/* Looks at the block at p. *words: what is known about it; its sum is 0 if nothing is. *damage:
 * the first changed byte. */
enum debug_verdict debug_check(struct debug_place place, const char *p, struct debug_words *words,
                               const char **damage);
/* Where the program's block begins, as far as the words at the start tell. */
char *debug_block_of(struct debug_place place);
/* The first byte of freed memory that is not as it was filled, or NULL. */
const char *debug_written(struct debug_place place);
/* The block as a cell, for a report. */
struct cell debug_cell(const char *p, const struct debug_words *words);

#endif
