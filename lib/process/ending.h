/* SPDX-License-Identifier: MIT */
/*
 * The last snapshot of a capture when a signal ends the program (option `capture.signals`).
 *
 * SIGHUP, SIGINT and SIGTERM get a handler while there is a capture, if the program itself has none
 * and does not ignore them; lib/process/disposition.h hides it from the program. The handler starts
 * two threads that libc does not know of (base/os_thread.h): one writes the snapshot, the other
 * waits for it, some seconds at most, and then lets the signal end the program.
 */
#ifndef PROCESS_ENDING_H
#define PROCESS_ENDING_H

#include <stdint.h>

/* The signals, a bit each. */
#define ENDING_SIGNALS ((uint64_t)1 << 0 | (uint64_t)1 << 1 | (uint64_t)1 << 14)

/* Applies the options: at start, and when one of them changes. */
void ending_apply(void);
/* In a forked child: the handlers are its own from now on. */
void ending_forked(void);
/* The handler. It runs with all signals blocked. */
void ending_handler(int number);

#endif
