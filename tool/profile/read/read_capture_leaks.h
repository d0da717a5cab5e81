/* SPDX-License-Identifier: MIT */
/*
 * A scan for lost blocks in a capture while it is read: its rows are kept and become samples at the
 * end, in columns of their own. The scan sees every block, and the sampler recorded some of them:
 * the rest is shared out among the stacks of recorded lost blocks of the same size, as many to each
 * as its share of the recorded ones is. Where none of that size was recorded, it has no stack. Rows
 * that tell the ages of reachable blocks become samples of forgotten ones.
 */
#ifndef PROFILE_READ_READ_CAPTURE_LEAKS_H
#define PROFILE_READ_READ_CAPTURE_LEAKS_H

#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read_capture_forgotten.h"

enum { LEAK_COLUMNS = 8 };

struct leak_row {
    struct capture_leak leak;
    uint64_t recorded;        /* blocks, before others were counted to it */
    struct profile_look look; /* what is told of it */
    uint64_t from_row;        /* the number + 1 of the row of `look.from` */
    bool is_age; /* reachable blocks: only the stack, thread and size of `leak` count */
    struct forgotten_age age;
};

struct leak_rows {
    struct list rows;               /* struct leak_row */
    unsigned columns[LEAK_COLUMNS]; /* objects and bytes: lost, indirect, possible, forgotten */
    struct forgotten forgotten;
};

void leak_rows_start(struct leak_rows *leaks, struct profile *profile,
                     const struct capture_leaks *scan, uint64_t start_ms);
void leak_rows_row(struct leak_rows *leaks, struct profile *profile,
                   const struct capture_leak *row);
/* RECORD_LEAK_LOOKS: what is told of the rows; or RECORD_LEAK_AGES. */
void leak_rows_part(struct leak_rows *leaks, struct profile *profile,
                    const struct capture_part *whole);
/* All rows are there: shares out what has no stack, and makes the columns. False: there was no
 * scan. */
bool leak_rows_end(struct leak_rows *leaks, struct profile *profile);
void leak_rows_add(const struct leak_rows *leaks, struct profile *profile,
                   const struct leak_row *row, uint32_t stack, uint32_t label_set);
void leak_rows_free(struct leak_rows *leaks);

#endif
