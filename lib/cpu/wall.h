/* SPDX-License-Identifier: MIT */
/*
 * A profile of all time, waiting included. The time that a thread runs is sampled as ever, by the
 * clock of its CPU time. A second timer, by the clock on the wall, looks where the rest goes: to
 * the system call that the thread waits in, or, while it is ready to run and has no CPU, to the
 * code that it is about to run. A thread that waits is interrupted for that; so the longer it is
 * found in one place, the less often it is looked at.
 */
#ifndef CPU_WALL_H
#define CPU_WALL_H

#include <stdint.h>

/* In the handler of thread `number`, interrupted at `context` by its second timer; NULL: this time
 * is not to be counted. */
void wall_sample(uint32_t number, const void *context);
/* The thread has ended. */
void wall_end(uint32_t number);

#endif
