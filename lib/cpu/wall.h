/* SPDX-License-Identifier: MIT */
/*
 * A profile of all time, waiting included: each thread's timer runs by the clock on the wall, and a
 * sample stands for all time since the thread's last one. A thread that waits is interrupted for
 * that; so the longer it is found in one place, the less often it is asked.
 */
#ifndef CPU_WALL_H
#define CPU_WALL_H

#include <stdint.h>

/* In the handler of thread `number`, interrupted at `context`. */
void wall_sample(uint32_t number, const void *context);

#endif
