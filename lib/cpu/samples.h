/* SPDX-License-Identifier: MIT */
/*
 * What was sampled: for each stack and thread, how many samples and how much time they stand for.
 * The stacks are those of lib/watch, the same that the heap observer has. Everything is counted in
 * the signal handler of the thread that is sampled, without a lock and without waiting.
 */
#ifndef CPU_SAMPLES_H
#define CPU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/watch/watch.h"

struct cpu_row {
    uint32_t stack, task; /* TASK_NONE: threads that are no longer told apart */
    uint64_t samples, ns;
};

/* In a handler: the thread of task `number` was interrupted at `context`, which stands for `ns`,
 * also of ended threads if `for_others`. False, and counted as lost: there was no way to take a
 * sample. */
bool samples_take(uint32_t number, uint64_t ns, bool for_others, const void *context);
/* Time of ended threads that none stands for: it belongs to what those were found doing that stood
 * for others last. False: there was none. */
bool samples_spread_others(uint64_t ns);
/* The same in two steps: the row of what the thread is doing, 0 if there is no memory for it; and
 * what is added to a row of the same thread. */
uint32_t samples_find(uint32_t number, const void *context);
void samples_add(uint32_t row, uint32_t number, uint64_t samples, uint64_t ns);
/* The row for TASK_NONE of where thread `number` calls from. Not in handlers. */
uint32_t samples_find_caller(uint32_t number, const struct caller *from);
/* Calls `each` for every stack and thread. `since_mark`: what came after the last mark only. */
void samples_each(void (*each)(void *context, const struct cpu_row *row), void *context,
                  bool since_mark);
void samples_mark(void);
void samples_forget(void);
/* More time of an ended thread: it belongs to what it was found doing, in the same shares. */
void samples_spread(uint32_t number, uint64_t ns);
/* Memory for what is to come, before the first sample. */
void samples_reserve(void);
/* What is counted for an ended thread goes to TASK_NONE. */
void samples_fold(uint32_t number);
/* Sums since the last time that all was forgotten. */
struct samples_sums {
    uint64_t samples, ns, lost, stackless;
};
struct samples_sums samples_sums(void);
/* Where the first of them is counted. */
const uint64_t *samples_count(void);
/* Expirations that no handler could count. */
void samples_lost(uint64_t weight);
/* All, or one thread, into the recorder file (lib/watch/mirror.h). */
void samples_copy(void);
void samples_copy_task(uint32_t number);
/* The calling thread, whose name is asked for now and then: `times` it was told so far. With
 * `mirror_on`. */
void samples_copy_self(uint32_t number, uint64_t times);
/* In a forked child. */
void samples_forked(void);

#endif
