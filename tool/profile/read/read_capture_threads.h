/* SPDX-License-Identifier: MIT */
/*
 * Threads of a capture while it is read. Rows of the heap call them by a number of the snapshot,
 * those of the clock and of locks by another; here both become labels, and one thread has one name.
 */
#ifndef PROFILE_READ_READ_CAPTURE_THREADS_H
#define PROFILE_READ_READ_CAPTURE_THREADS_H

#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"

struct clock_rows;
struct clock_thread;

enum { CAPTURE_THREAD_OTHER = UINT32_MAX };

struct capture_named {
    uint32_t id, tid, name; /* name: a string */
    bool unnamed;           /* it is made of its id */
};

struct capture_threads {
    struct profile *profile;
    struct keys numbers; /* of one snapshot */
    struct list numbered;
    struct keys ids;   /* of all */
    struct list named; /* struct capture_named */
    struct {
        uint32_t thread, tid, bytes, other, lock, holder;
    } words;
};

void capture_threads_start(struct capture_threads *threads, struct profile *profile);
/* A snapshot begins. */
void capture_threads_anew(struct capture_threads *threads);
/* `numbered`: rows of this snapshot are to be read. */
void capture_threads_take(struct capture_threads *threads, const struct capture_thread *thread,
                          bool numbered);
/* RECORD_THREAD_COUNTS of the snapshot whose rows are to be read. */
void capture_threads_counts(struct capture_threads *threads, const struct capture_part *whole);
/* NULL: one of too many. */
const struct capture_named *capture_threads_find(const struct capture_threads *threads,
                                                 uint32_t number);
/* A label set. `thread` may be NULL, `size` 0. */
uint32_t capture_threads_labels(struct capture_threads *threads, const struct capture_named *thread,
                                uint64_t size);
/* The labels of the clock's threads: by the names that rows of the heap have for them. */
void capture_threads_join(struct capture_threads *threads, struct clock_rows *clock);
/* Of a wait for a lock of a kind; both may be NULL. */
uint32_t capture_threads_waits(struct capture_threads *threads, const struct clock_thread *thread,
                               const struct clock_thread *holder, const char *kind);
void capture_threads_free(struct capture_threads *threads);

#endif
