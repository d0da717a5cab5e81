/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks in a capture while it is read: rows of the wanted snapshot are kept and become
 * samples at the end, in columns of their own. Condition variables have columns apart from those of
 * mutexes and rwlocks: threads without work wait there, and that is no contention.
 */
#ifndef PROFILE_READ_READ_CAPTURE_LOCKS_H
#define PROFILE_READ_READ_CAPTURE_LOCKS_H

#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"

struct lock_row {
    uint32_t stack, thread, holder; /* numbers of threads are those of the clock */
    uint32_t kind;                  /* enum wait_kind */
    uint64_t count, ns;
};

struct lock_rows {
    bool known;
    struct list rows;       /* struct lock_row */
    unsigned columns[2][2]; /* locks and conditions: count, time */
};

/* RECORD_LOCKS and RECORD_LOCK_ROWS. */
void lock_rows_part(struct lock_rows *locks, struct profile *profile,
                    const struct capture_part *whole);
/* All rows are there: makes the columns. False: waits were not counted. */
bool lock_rows_end(struct lock_rows *locks, struct profile *profile);
void lock_rows_add(const struct lock_rows *locks, struct profile *profile,
                   const struct lock_row *row, uint32_t stack, uint32_t label_set);
void lock_rows_free(struct lock_rows *locks);
/* The label of a kind: "mutex". */
const char *lock_kind_word(uint32_t kind);

#endif
