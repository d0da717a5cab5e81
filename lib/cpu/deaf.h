/* SPDX-License-Identifier: MIT */
/*
 * Threads that block the signal of the clocks, as many servers' workers block all signals. Their
 * clocks send the one that libc keeps for itself instead (interrupt_open_libcs), which libc's
 * functions never block. Only theirs, and none any more once a thread has an alternate stack with
 * little room: it would interrupt handlers of the program's there that block all signals.
 */
#ifndef CPU_DEAF_H
#define CPU_DEAF_H

#include <stdbool.h>
#include <stdint.h>

/* The profile begins; its clocks send `signal`. `blocked`: signals, by the thread that calls. */
void deaf_open(int signal, uint64_t blocked);
/* The thread of a row without a clock begins, and blocks these signals. */
void deaf_begin(uint32_t number, uint64_t blocked);
/* It ends, and blocked these. */
void deaf_end(uint32_t number, uint64_t blocked);
/* Whether libc's signal may be sent. */
bool deaf_can_hear(void);
/* The calling thread, which blocks all signals, has an alternate stack with little room: when this
 * returns, libc's signal is not sent any more. It looks once at the clocks of all threads. */
void deaf_leave(void);
/* In a handler: whether the clock of some thread seems not to be heard, so that a look is due. */
bool deaf_seen(void);
/* Gives such threads another clock, where a look is due; after `deaf_leave`, the usual one again.
 * In the thread of ours that looks for threads, which opens files (tasks_scan). The first time some
 * are asked that have not run yet. */
void deaf_look(void);

#endif
