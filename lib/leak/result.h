/* SPDX-License-Identifier: MIT */
/* What a scan (scan.h) finds: sums, lost blocks by site and one by one, ages of reachable ones. */
#ifndef LEAK_RESULT_H
#define LEAK_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan_range {
    uintptr_t start, end;
};

struct scan_sum {
    uint64_t blocks, bytes;
};

/* What can be told of a block that has no stack (looks.h). */
enum { SCAN_BYTES_MAX = 32, SCAN_CLASS_MAX = 96, SCAN_LOOKS_MAX = 1 << 12 };
struct scan_looks {
    uint8_t bytes[SCAN_BYTES_MAX]; /* its first ones */
    uint32_t bytes_count;
    char class[SCAN_CLASS_MAX]; /* the name of its C++ class, mangled, or empty */
};

/* Lost blocks of one site, or, where blocks have no record, of one size. */
struct scan_row {
    uint32_t site; /* `site` of the records (lib/window/span.h); 0: none */
    bool used;
    uint64_t size;            /* site 0: usable bytes of each block; else of the largest */
    uint64_t requested_bytes; /* by verdict all together; usable bytes where there is no record */
    uint64_t definite_requested; /* of that, definite ones */
    struct scan_sum definite, indirect, possible;
    struct scan_sum owned;     /* indirectly lost blocks that definite ones of this row lead to */
    uint64_t cycles;           /* definite blocks that a block of their own leads back to */
    uintptr_t example;         /* one of the blocks */
    uintptr_t example_word;    /* its first word */
    uint64_t oldest, youngest; /* ticks since such blocks were allocated; site 0: not known */
    uintptr_t from;            /* a lost block that points to one of them, or 0, */
    uint32_t from_row;         /* and which row that is counted in + 1 */
    uint32_t number;           /* in the list of rows that are used */
};

/* A block that is not reachable. */
struct scan_lost {
    uintptr_t start;
    size_t requested;
    uint32_t site;
};

/* How old reachable blocks of a site are (ages.h). Counts are those of recorded blocks. */
enum { SCAN_QUARTERS = 4 };
struct scan_age {
    uint32_t site; /* 0: none */
    uint64_t size, blocks;
    uint64_t oldest;                  /* ticks since the oldest one was allocated */
    uint64_t quarters[SCAN_QUARTERS]; /* of them that old, the youngest quarter of the time first */
    uint64_t untouched; /* in the older half of the time, on pages that were not written to */
};
/* Sites of recorded blocks that are reachable: beyond 4,096 of them further ones are left out. */
enum { SCAN_AGES_SHIFT = 12, SCAN_AGES = 1 << SCAN_AGES_SHIFT, SCAN_SIZES = 128 };
struct scan_ages {
    bool known;
    uint64_t now;                                   /* ticks */
    uint64_t all[SCAN_SIZES], recorded[SCAN_SIZES]; /* reachable blocks, by size */
    struct scan_age rows[SCAN_AGES];
    uint32_t used[SCAN_AGES], used_count; /* rows that are used */
};

enum { SCAN_LOST_MAX = 1 << 16 }; /* listed one by one */
/* Rows of a result; the last one takes what finds no room. */
enum { SCAN_ROWS_SHIFT = 14, SCAN_ROWS = 1 << SCAN_ROWS_SHIFT };

struct scan_result {
    struct scan_sum reachable, possible, indirect, definite;
    uint64_t root_bytes; /* looked at */
    bool complete;       /* false: memory was out */
    struct scan_row rows[SCAN_ROWS];
    uint32_t used[SCAN_ROWS]; /* rows that are used; reading others would touch their pages */
    uint32_t used_count;
    struct scan_looks looks[SCAN_LOOKS_MAX]; /* of the first ones, in that order */
    uint64_t lost_count;                     /* may be more than are listed */
    struct scan_lost lost[SCAN_LOST_MAX];
    struct scan_ages ages;
};

#endif
