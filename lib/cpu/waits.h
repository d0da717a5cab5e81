/* SPDX-License-Identifier: MIT */
/*
 * The lock observer: where threads wait for mutexes, rwlocks and condition variables, for how long,
 * and for which thread. Every wait is counted, none is sampled. lib/api/locks.c calls this around
 * the waits of the program; a lock that is free costs nothing here.
 *
 * A wait is counted when it ends. Its stack is walked when it begins, while the lock is another
 * thread's: no lock is held longer for being observed, but for the mutex of a condition variable,
 * which the thread that begins to wait still has.
 */
#ifndef CPU_WAITS_H
#define CPU_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file/capture_format.h"
#include "lib/watch/watch.h"

struct wait_row {
    uint32_t stack;
    uint32_t task, holder; /* numbers of tasks; TASK_NONE: not known */
    enum wait_kind kind;
    uint64_t count, ns;
};

/* Whether waits are counted now. */
extern uint32_t waits_running;

/* Counts from now on; what was counted before stays. */
void waits_start(void);
void waits_stop(void);
void waits_reset(void);

/* A wait begins, in the calling thread, for what thread `holder` has (0: not known): its row, or 0
 * if there is no memory for one. No lock but that of lib/watch/tasks.h, no allocation from the
 * program's heap. */
uint32_t waits_find(enum wait_kind kind, uint32_t holder, const struct caller *from);
/* It has ended after `ns`. `row` may be 0: then it is counted as lost. */
void waits_add(uint32_t row, uint64_t ns);
/* Calls `each` for every row with a count. */
void waits_each(void (*each)(void *context, const struct wait_row *row), void *context);

struct waits_about {
    bool runs;
    uint64_t first_ms;  /* of the first start; 0: there was none */
    uint64_t on_ns;     /* for how long it was on */
    uint64_t waits, ns; /* for mutexes and rwlocks */
    uint64_t condition_waits, condition_ns;
    uint64_t lost;      /* waits without a row */
    uint64_t stackless; /* waits whose stack could not be remembered */
};
void waits_about(struct waits_about *about);

/* Whether a row names the thread: as the one that waits, or as the holder. */
bool waits_has(const struct task *task);
/* The thread has ended: its counts move to the rows of TASK_NONE. */
void waits_fold(uint32_t number);
/* Copies all rows into a recorder file that was made just now. */
void waits_copy(void);
/* In a forked child: forgets what the parent counted. */
void waits_forked(void);

#endif
