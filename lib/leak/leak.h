/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/leak: which blocks nothing points to any more. A copy of the process (the way of
 * fork) looks at a heap that stands still, while the program goes on; where no copy can be made,
 * the calling thread looks at the heap itself.
 */
#ifndef LEAK_LEAK_H
#define LEAK_LEAK_H

#include "lib/leak/ages.h"
#include "lib/leak/apart.h"
#include "lib/leak/declared.h"
#include "lib/leak/roots.h"
#include "lib/leak/scan.h"

struct leak_request {
    enum scan_inside inside;
    size_t offset_max;             /* for SCAN_INSIDE_OFFSET */
    bool mappings;                 /* memory that the program mapped by itself counts as a root */
    struct roots_left_out without; /* what counts for nothing */
    bool (*kept)(const struct record *record); /* as in scan.h, as are these */
    const struct blocks_base *base;
    const struct scan_others *others;
    unsigned step, tags_high, tags_low;
    bool ages;         /* also how old reachable blocks are, */
    unsigned watch_ms; /* and which pages the program writes to in that time, before the scan */
    const struct roots_thread *here; /* the thread that asks, or NULL */
};

struct leak_scan {
    struct scan_result result;
    uint64_t time_ms;           /* os_now_ms() of the moment it tells about */
    uint64_t took_us, stood_us; /* the scan; how long threads of the program stood still for it */
    unsigned threads, silent;   /* that were there; of which the registers are not known */
    uint64_t own_bytes;         /* that the scan needed for itself */
    uint64_t copied_bytes;      /* of pages that the program wrote to, and so copied, meanwhile */
    unsigned watched_ms;        /* how long writes to pages were watched before; 0: not known */
    bool in_place;              /* no copy could be made: the threads stood still all the time */
};

enum leak_failure {
    LEAK_NO_MEANS,   /* memory is out, or /proc does not tell threads or mappings */
    LEAK_TOO_BUSY,   /* the threads did not stand still in time (stop.h) */
    LEAK_TOO_LONG,   /* the copy did not end in time, */
    LEAK_COPY_ENDED, /* or ended without a result */
};

/* Makes a scan. To be called by a thread of ours, as stop.h says. NULL if that failed, or another
 * thread makes one; otherwise it stays until `leak_last_end`. */
const struct leak_scan *leak_find(const struct leak_request *request);
/* Why the last call of it failed. */
enum leak_failure leak_failure(void);
/* The last one, or NULL. It stays until `leak_last_end`, to be called in any case. */
const struct leak_scan *leak_last(void);
void leak_last_end(void);
/* The memory that stays after a scan: its result, and where threads note their registers. */
enum { LEAK_MEMORIES = 2 };
void leak_memory(struct scan_range ranges[LEAK_MEMORIES]);

#endif
