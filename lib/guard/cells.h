/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks. Each has pages of its own, in a region of addresses that serves nothing else, and
 * a page behind them that can't be touched; the one before them belongs to the neighbour.
 *
 *      | guard | front ... block slack | guard | front ... block slack | guard |
 *                <----- the run ------>
 *
 * A block ends at the guard page, but for the slack that its alignment needs; what is left in front
 * of it and the slack are filled with a pattern and checked when it is freed. With the option
 * guard.front it begins at the first of its pages instead, behind a guard page. Freed pages are
 * inaccessible until the block has left the quarantine, and have no memory.
 *
 * A page becomes a guard by MADV_GUARD_INSTALL (Linux 6.13), which costs no mapping; where the
 * kernel has no such call, by mprotect, which costs two mappings a live block. What can't be had,
 * because memory, addresses or mappings are out, is refused: the caller takes an ordinary block.
 *
 * A cell tells all about one block, also after its end. Cells lie in a table in the order of their
 * addresses and are never removed, so an address leads to its cell by a binary search, without a
 * lock. What a cell is doing is in its state alone, from which the lists can be made again.
 */
#ifndef GUARD_CELLS_H
#define GUARD_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "lib/alloc/alloc.h"

enum cell_state {
    CELL_NONE,
    CELL_BUSY,  /* a thread changes it */
    CELL_FREE,  /* waits for the next block */
    CELL_LIVE,  /* a block of the program's */
    CELL_FREED, /* in the quarantine */
};

/* One end of a block's life. */
struct cell_event {
    uint64_t time_ms;
    uint32_t stack; /* stacks.h */
    uint32_t thread;
};

struct cell {
    uintptr_t start; /* of the block */
    size_t size;     /* that was asked for */
    uint32_t page;   /* where its run begins, in pages of the region */
    uint32_t run;    /* pages of the run, without the guard behind it */
    uint32_t data;   /* the first page that the block makes accessible, */
    uint32_t pages;  /* and how many; 0: the block has no byte */
    uint32_t next;   /* in the list that its state puts it in; a number, 0: the last */
    uint8_t state;
    uint8_t family;    /* the functions that allocated it (enum caller_family) */
    bool recorded : 1; /* `record` is the heap profile's */
    bool opened : 1;   /* an access was let through */
    bool sealed : 1;   /* inaccessible by mprotect: no markers, it was locked, or memory was out */
    bool marked : 1;   /* its pages take the markers of MADV_GUARD_INSTALL */
    struct cell_event born, died;
    struct record record;
    struct owner *owner; /* of the block (lib/alloc/owner.h); NULL: it has none */
};

extern struct lock cells_lock;

/* How blocks are placed, and how much there may be of them. */
struct cells_limits {
    size_t region_bytes;     /* addresses; fewer if there are few */
    size_t live_bytes;       /* pages of live blocks */
    size_t quarantine_bytes; /* pages of freed blocks */
    bool tight;              /* no slack: the last byte is next to the guard */
    bool front;              /* blocks begin at a guard: what is left is all behind them */
    bool silent;             /* nothing is said about refused blocks */
};

/* Reserves the addresses. False if there are none. */
bool cells_init(const struct cells_limits *limits);
/* Memory is out, for a block of `size` bytes. Where the program has lowered its limit of addresses
 * since, those that the region does not use are given back, which is said once; where all of them
 * are in use, the quarantine ends, and free pages stop being writable. False: there is nothing to
 * give. */
bool cells_yield(size_t size);
/* Only the first: the program has lowered that limit. */
bool cells_yield_addresses(void);
/* A block, filled around, all of it zero; the caller fills in `born`, `family`, `recorded` and
 * `owner`, then makes it live by `cells_begin`. NULL: refused. */
struct cell *cells_take(size_t size, size_t align);
void cells_begin(struct cell *cell);
/* Claims a live block for its end: false if another thread was faster. */
bool cells_claim(struct cell *cell);
/* Its pages become inaccessible, and it enters the quarantine. The caller has filled in `died`. */
void cells_give(struct cell *cell);

/* Whether an address is in the region. */
bool cells_own(const void *p);
/* The cell that an address is nearest to: of the run that it is in, or of the run before or behind
 * the guard page that it is in. NULL: none was ever there. May run in a signal handler. */
struct cell *cells_near(uintptr_t address);
/* The neighbours in the order of addresses, or NULL. */
const struct cell *cells_before(const struct cell *cell);
const struct cell *cells_after(const struct cell *cell);
/* The first byte around the block that is not as it was filled; NULL if all are. */
const uint8_t *cells_damage(const struct cell *cell);
/* Whether an address is in the block's pages or in the guard pages beside them. */
bool cells_touched(const struct cell *cell, uintptr_t address);
/* Makes the page at such an address accessible for good, so that the program may go on. */
bool cells_open(struct cell *cell, uintptr_t address);

/* The same for reads: the page reads as zero. */
bool cells_open_for_reads(uintptr_t address);

/* Calls `each` for every live block. The program may go on meanwhile. */
void cells_each(void (*each)(void *context, struct cell *cell), void *context);
/* The numbers of all cells are from 1 to below this. */
uint32_t cells_count(void);
/* The cell with that number; NULL for 0. */
struct cell *cells_at(uint32_t number);
/* The same if it is live, else NULL; not for 0. */
INLINE const struct cell *cells_live(uint32_t number)
{
    const struct cell *cell = cells_at(number);
    return load_acquire(&cell->state) == CELL_LIVE ? cell : NULL;
}
/* The bytes of all runs that were ever made, without their guards. */
uint64_t cells_made(void);
/* Live blocks and their pages; addresses of freed ones in the quarantine. */
struct cells_sums {
    uint64_t blocks, bytes, quarantine_bytes;
};
struct cells_sums cells_sums(void);
/* The number of the live block that an address is in; a block of 0 bytes has its start. 0: none. */
uint32_t cells_inside(uintptr_t address);
/* The addresses in use, from `*start` on; false if there are none. */
bool cells_range(uintptr_t *start, uintptr_t *end);
/* The same for the cells themselves. */
void cells_table(uintptr_t *start, uintptr_t *end);
/* Bytes of both that are in memory; `parts_max` as for `os_resident`. */
size_t cells_resident(size_t parts_max);
size_t cells_table_resident(size_t parts_max);

/* In a forked child, and after a jump out of a signal handler. */
void cells_recover(uint32_t parent_id);
void cells_abandoned(void);

#endif
