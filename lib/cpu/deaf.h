/* SPDX-License-Identifier: MIT */
/*
 * Threads that block the signal of the clocks, as many servers' workers block all signals. Their
 * clocks send the one that libc keeps for itself instead (interrupt_open_libcs), which libc's
 * functions never block. Only theirs: it would interrupt the program's signal handlers, too, on
 * alternate stacks that have little room.
 */
#ifndef CPU_DEAF_H
#define CPU_DEAF_H

#include <stdbool.h>
#include <stdint.h>

/* The profile begins; its clocks send `signal`. `blocked`: signals, by the thread that calls. */
void deaf_open(int signal, uint64_t blocked);
/* The thread of a row without a clock begins, and blocks these signals. */
void deaf_begin(uint32_t number, uint64_t blocked);
/* In a handler: whether the clock of some thread seems not to be heard, so that a look is due. */
bool deaf_seen(void);
/* Gives such threads another clock, where a look is due. In the thread of ours that looks for
 * threads, which opens files (tasks_scan). The first time some are asked that have not run yet. */
void deaf_look(void);

#endif
