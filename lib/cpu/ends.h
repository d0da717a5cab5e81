/* SPDX-License-Identifier: MIT */
/*
 * The ends of threads. The last that we see of a thread is a destructor; what the kernel and libc
 * do after it is in no sample, and of a thread that lives for a millisecond it is a few percent.
 * The clock of the process tells how much it is in all. It counts for the place where threads end.
 */
#ifndef CPU_ENDS_H
#define CPU_ENDS_H

#include <stdint.h>

#include "lib/watch/watch.h"

/* The profile starts, or everything was forgotten: nothing is left to count. */
void ends_begin(void);
/* In a forked child. */
void ends_forked(void);
/* Thread `number` calls in its last destructor, which is called at `at`. */
void ends_note(uint32_t number, const struct caller *at);
/* It has ended, and its CPU time is known. Spreads what many ended threads have left. */
void ends_add(const struct task *task);
/* Counts what is left so far. Before samples are read; not in signal handlers. */
void ends_count(void);

#endif
